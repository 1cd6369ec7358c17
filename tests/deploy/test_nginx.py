"""``deploy/nginx.conf`` in a real nginx (``make test-deploy``)."""

import contextlib
import json
import os
import re
import socket
import ssl
import subprocess
import time
from ipaddress import ip_address

import pytest

from modhub_testing.commands import find_program
from modhub_testing.service import free_port

MEGABYTE = 1024 * 1024
HOST = "mods.example.org"
LARGE = 60 * MEGABYTE
TOO_LARGE = 64 * MEGABYTE + 1


@pytest.fixture(scope="module")
def owner(proxy):
    """The header of an account that has just registered."""
    registration = json.dumps({"email": "owner@example.org", "password": "correct horse battery"})
    answer = proxy.ask("POST", "/api/auth/register", registration, {"Content-Type": "application/json"})
    assert answer.status == 201, answer
    return {"Authorization": f"Bearer {answer.json['accessToken']}"}


@pytest.fixture(scope="module")
def mod(proxy, owner):
    """A published mod with 60 MB of code, and what was sent."""
    content = os.urandom(MEGABYTE) * 60
    made = proxy.ask("POST", "/api/modhub", json.dumps({"title": "Large", "description": "x" * 7000}), owner).json
    sent = proxy.ask("POST", f"/api/modhub/{made['id']}/code?version=1&name=large.zip", content, owner)
    assert (sent.status, sent.json["assets"][0]["bytes"]) == (201, LARGE)
    assert proxy.ask("POST", f"/api/modhub/{made['id']}/publish", None, owner).status == 200
    return made["id"], content


def test_nginx_takes_the_file_without_a_word(proxy):
    ended = subprocess.run(proxy.command("-t"), capture_output=True, text=True, check=False, timeout=100)
    assert ended.returncode == 0, ended.stderr
    lines = [line for line in ended.stderr.splitlines() if "deprecated" not in line]
    assert len(lines) == 2, ended.stderr
    assert "syntax is ok" in lines[0]
    assert "test is successful" in lines[1]


@pytest.mark.parametrize(
    ("version", "taken"),
    [
        (ssl.TLSVersion.TLSv1_2, True),
        (ssl.TLSVersion.TLSv1_1, False),
    ],
)
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
def test_only_tls_that_is_safe_is_spoken(proxy, version, taken):
    context = proxy.context()
    # What this machine's own OpenSSL would refuse to say must not be what makes the test pass.
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = version
    try:
        with socket.create_connection(("127.0.0.1", proxy.port), 60) as plain:
            with context.wrap_socket(plain, server_hostname=HOST) as secure:
                assert secure.version() == version.name.replace("_", ".")
        spoken = True
    except (ssl.SSLError, ConnectionResetError):
        spoken = False
    assert spoken is taken
    # OpenSSL and the ciphers keep old versions out as well; neither is to be all that does.
    assert "    ssl_protocols TLSv1.2 TLSv1.3;\n" in (proxy.folder / "site.conf").read_text("utf-8")


def test_http_2_and_http_1_answer_alike(proxy):
    context = proxy.context()
    context.set_alpn_protocols(["h2", "http/1.1"])
    with socket.create_connection(("127.0.0.1", proxy.port), 60) as plain:
        with context.wrap_socket(plain, server_hostname=HOST) as secure:
            assert secure.selected_alpn_protocol() == "h2"
    answers = []
    for flag, version in (("--http2", b"2"), ("--http1.1", b"1.1")):
        fetched = proxy.curl(flag, "--write-out", "\n%{http_version}", proxy.url("/api/modhub"))
        assert fetched.returncode == 0, fetched
        body, _, spoken = fetched.stdout.rpartition(b"\n")
        assert spoken == version
        answers.append(body)
    assert answers[0] == answers[1]


def test_60_megabytes_go_up_and_come_down_unchanged_without_a_copy_on_disk(proxy, mod, tmp_path):
    number, content = mod
    assert proxy.ask("GET", f"/api/modhub/{number}/download").body == content
    connection = socket.create_connection(("127.0.0.1", proxy.port), 60)
    with proxy.context().wrap_socket(connection, server_hostname=HOST) as slow:
        slow.sendall(f"GET /api/modhub/{number}/download HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        assert slow.recv(16)
        time.sleep(1)
        assert [path for path in (proxy.folder / "proxy").rglob("*") if path.is_file()] == []
    file = tmp_path / "down"
    fetched = proxy.curl("--http2", "--output", str(file), proxy.url(f"/api/modhub/{number}/download"))
    assert fetched.returncode == 0, fetched
    assert file.read_bytes() == content
    fetched = proxy.curl("--http2", "--range", "5-9", proxy.url(f"/api/modhub/{number}/download"))
    assert fetched.stdout == content[5:10]


@pytest.mark.parametrize(("size", "protocol"), [(TOO_LARGE, "--http2"), (200 * MEGABYTE, "--http1.1")])
def test_too_large_is_said_in_json_with_the_limit(proxy, owner, tmp_path, size, protocol):
    mod = proxy.ask("POST", "/api/modhub", json.dumps({"title": "Small"}), owner).json
    sparse = tmp_path / "large"
    with sparse.open("wb") as file:
        file.truncate(size)
    where = proxy.url(f"/api/modhub/{mod['id']}/code?version=9")
    auth = f"Authorization: {owner['Authorization']}"
    fetched = proxy.curl(protocol, "-H", auth, "--data-binary", f"@{sparse}", "--write-out", "\n%{http_code}", where)
    body, _, status = fetched.stdout.rpartition(b"\n")
    assert status == b"413", (fetched, proxy.errors())
    assert json.loads(body)["error"] == "too_large"
    assert json.loads(body)["limitBytes"] == 64 * MEGABYTE


def test_a_growing_body_beyond_the_limit_is_413_too(proxy, owner, mod):
    pieces = (b"x" * MEGABYTE for _ in range(65))
    answer = proxy.ask("POST", f"/api/modhub/{mod[0]}/images?name=a.png", pieces, owner)
    assert (answer.status, answer.json["limitBytes"]) == (413, 2 * MEGABYTE)


def test_what_everybody_reads_is_compressed_and_nothing_else(proxy, owner, mod):
    # T-D18
    asks = {"Accept-Encoding": "gzip"}
    number = mod[0]
    page = proxy.ask("GET", "/Modhub").body.decode()
    static = [part.partition('"')[0] for part in page.split('"/static/')[1:]]
    public = ["/api/modhub", f"/api/modhub/{number}", "/Modhub/feed", f"/static/{static[0]}", "/Modhub"]
    private = ["/Modhub/account/login", "/api/modhub/mine", "/api/auth/me", f"/api/modhub/{number}/download"]
    for path in public:
        answer = proxy.ask("GET", path, headers=asks)
        assert (path, answer.status, answer.headers["Content-Encoding"]) == (path, 200, "gzip")
        assert "Accept-Encoding" in answer.headers["Vary"]
    for path in private:
        answer = proxy.ask("GET", path, headers=asks | owner if path.startswith("/api/") else asks)
        assert (path, answer.status, answer.headers["Content-Encoding"]) == (path, 200, None)
    known = proxy.ask("GET", "/api/modhub", headers=asks).headers["ETag"]
    assert proxy.ask("GET", "/api/modhub", headers=asks | {"If-None-Match": known}).status == 304


def test_callers_and_ids_arrive(proxy, service):
    forged = {"X-Forwarded-For": "192.0.2.1", "Forwarded": "for=192.0.2.2", "X-Forwarded-Proto": "http"}
    answer = proxy.ask("GET", "/api/modhub/games", headers=forged)
    request_id = answer.headers["X-Request-Id"]
    (ours,) = [line for line in service.log().splitlines() if request_id in line]
    assert '"caller": "127.0.0.1"' in ours
    deadline = time.monotonic() + 60
    while request_id not in (text := (proxy.folder / "modhub.log").read_text("utf-8")):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    (theirs,) = [json.loads(line) for line in text.splitlines() if request_id in line]
    assert (theirs["id"], theirs["status"], theirs["path"]) == (request_id, 200, "/api/modhub/games")
    assert answer.headers.get_all("Strict-Transport-Security") == ["max-age=31536000; includeSubDomains"]
    assert answer.headers["Server"] == "nginx"


def test_whether_the_service_is_ready_is_for_this_machine(proxy):
    assert proxy.ask("GET", "/readyz").json["status"] == "ok"
    fetched = proxy.curl(
        "--interface", "127.0.0.2", "--write-out", "%{http_code}", "-o", "/dev/null", proxy.url("/readyz")
    )
    assert fetched.stdout == b"403"
    fetched = proxy.curl(
        "--interface", "127.0.0.2", "--write-out", "%{http_code}", "-o", "/dev/null", proxy.url("/healthz")
    )
    assert fetched.stdout == b"200"


def test_a_client_with_all_its_connections_still_gets_the_health_check(proxy):
    # T-D2
    head = f"POST /api/auth/login HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 60000\r\n\r\n".encode()
    context = proxy.context()
    with contextlib.ExitStack() as held:
        for _ in range(260):
            plain = held.enter_context(socket.create_connection(("127.0.0.1", proxy.port), 60))
            held.enter_context(context.wrap_socket(plain, server_hostname=HOST)).sendall(head)
        deadline = time.monotonic() + 60
        while (refused := proxy.ask("GET", "/api/modhub")).status == 200:
            assert time.monotonic() < deadline
        assert (refused.status, refused.json["error"]) == (503, "busy")
        assert proxy.ask("GET", "/healthz").status == 200
        others = ("--interface", "127.0.0.3", "--write-out", "%{http_code}", "-o", "/dev/null")
        assert proxy.curl(*others, proxy.url("/api/modhub")).stdout == b"200"


def test_plain_http_leads_to_tls(proxy):
    # C-SEC-2
    fetched = proxy.curl("-i", "-H", f"Host: {HOST}", f"http://127.0.0.1:{proxy.plain}/api/modhub?q=x")
    assert b" 301 " in fetched.stdout.splitlines()[0]
    assert f"location: https://{HOST}/api/modhub?q=x".encode() in fetched.stdout.lower()


@pytest.mark.parametrize(
    "sent",
    [
        ("-H", "Authorization: Bearer token", "/api/modhub/mine"),
        ("-H", "X-Api-Key: key", "/api/modhub/key"),
        ("-d", '{"email":"a@example.org","password":"correct horse battery"}', "/api/auth/login"),
    ],
)
def test_a_secret_sent_over_plain_http_is_refused_and_not_led_on(proxy, sent):
    # C-SEC-2
    *options, path = sent
    fetched = proxy.curl("-i", *options, "-H", f"Host: {HOST}", f"http://127.0.0.1:{proxy.plain}{path}")
    head, _, body = fetched.stdout.partition(b"\r\n\r\n")
    assert (b" 403 " in head.splitlines()[0], json.loads(body)["error"]) == (True, "https_required"), fetched
    lines = head.lower().splitlines()
    assert {b"content-type: application/json", b"cache-control: no-store"} <= set(lines)
    assert not [line for line in lines if line.startswith(b"location:")]


def test_without_any_process_programs_read_json_and_people_a_page(nginx):
    # C-RUN-28
    away = nginx([free_port()])
    for path in ("/api/modhub", "/Modhub/api/wiki", "/api?x=1"):
        answer = away.ask("GET", path)
        # nginx has not read the body of a write, and closes the connection: clients have to know.
        told = [answer.headers[name] for name in ("Retry-After", "Connection")]
        assert (answer.status, answer.json["error"], told) == (503, "busy", ["5", "close"])
        assert answer.headers["X-Request-Id"]
    for path in ("/", "/Modhub/1", "/Modhub/apis"):
        answer = away.ask("GET", path)
        assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        assert "Try again in a few seconds." in answer.body.decode()


PEERS = """
user root;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ }}
http {{
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    set_real_ip_from unix:;
    real_ip_header X-Test-Address;
    log_format peer "$remote_addr $modhub_peer";
    access_log {folder}/peers.log peer;
    {block}
    server {{
        listen unix:{folder}/socket;
        location / {{ return 204; }}
    }}
}}
"""
NETWORKS = [
    {"2001:db8:1:0:0:4:5:6", "2001:db8:1::", "2001:db8:1::1", "2001:db8:1:0:ffff::"},
    {"2001:db8:0:0:1:2:3:4", "2001:db8::1"},
    {"2001:db8:1:2:3:4:5:6", "2001:db8:1:2::", "2001:db8:1:2::9", "2001:db8:1:2:a0a:a0a:a0a:a0a"},
    {"2001:db8:1:3:3:4:5:6"},
    {"2001:db8:a0a:a0a:1:2:3:4", "2001:db8:a0a:a0a::"},
    {"::1", "::2:3:4:5"},
    {"fe80::1", "fe80::a:b:c:d"},
    {"192.0.2.1"},
    {"192.0.2.2"},
    {"10.10.10.10"},
]


def test_a_network_of_64_bits_is_one_client_however_its_addresses_are_written(proxy, tmp_path):
    # T-D2
    shipped = (proxy.folder / "site.conf").read_text("utf-8")
    block = re.search(r"^map [^\n]+ \$modhub_peer \{\n.*?^\}\n", shipped, re.MULTILINE | re.DOTALL)
    assert block
    (tmp_path / "nginx.conf").write_text(PEERS.format(folder=tmp_path, block=block[0]))
    command = [find_program("nginx"), "-c", str(tmp_path / "nginx.conf"), "-e", str(tmp_path / "error.log")]
    running = subprocess.Popen(command)
    peers = {}
    try:
        while not (tmp_path / "socket").exists():
            assert running.poll() is None, (tmp_path / "error.log").read_text()
            time.sleep(0.05)
        for address in sorted(set().union(*NETWORKS)):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(str(tmp_path / "socket"))
                request = f"GET / HTTP/1.1\r\nHost: x\r\nX-Test-Address: {address}\r\nConnection: close\r\n\r\n"
                connection.sendall(request.encode())
                assert b" 204 " in connection.recv(1000)
                connection.recv(1000)
    finally:
        running.terminate()
        running.wait(60)
    for line in (tmp_path / "peers.log").read_text("latin-1").splitlines():
        address, _, peer = line.partition(" ")
        peers[ip_address(address).compressed] = peer
    seen = [{peers[ip_address(address).compressed] for address in network} for network in NETWORKS]
    assert [len(clients) for clients in seen] == [1] * len(NETWORKS)
    assert len(set().union(*seen)) == len(NETWORKS)
