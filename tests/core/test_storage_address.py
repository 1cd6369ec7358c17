"""The address of the storage machine: who may report it, valid origins, who is notified."""

from functools import partial
from itertools import pairwise

import pytest

from modhub.content.origins import parse_origin
from modhub.storage_address import services
from modhub.storage_address.services import STALE_SECONDS, CurrentAddress
from modhub_testing import stored_files
from modhub_testing.clocks import Clock
from modhub_testing.mods import mod_address, published_mod, upload_asset
from tests.races import at_once

ADDRESS = "/api/modhub/storage/address"
KEY = "the address key"
HOST = "https://files.example.org"


@pytest.fixture
def storage(start):
    return start("", modhub__storage_address_key=KEY, ApiPrivateKeys="machine\nwiki Modhub:wiki")


def send(site, base_url=HOST, key=KEY, status=200):
    headers = {} if key is None else {"X-Api-Key": key}
    return site.post_json(ADDRESS, {"baseUrl": base_url}, headers=headers, status=status)


def stored(site):
    return CurrentAddress(site.databases.raw_queries).current()


def test_a_report_is_stored_and_changes_once(storage):
    # C-ADDR-1, C-ADDR-5
    assert stored(storage) is None
    assert send(storage).json == {"baseUrl": HOST, "changed": True}
    assert stored(storage) == HOST
    assert send(storage).json == {"baseUrl": HOST, "changed": False}
    assert send(storage, "https://FILES.example.org:443/").json == {"baseUrl": HOST, "changed": False}
    assert send(storage, f"{HOST}:8443").json == {"baseUrl": f"{HOST}:8443", "changed": True}


def test_with_none_configured_every_key_is_refused(start):
    # C-KEY-2
    site = start("", modhub__storage_address_key="  ", ApiPrivateKeys="machine")
    for key in ("", "  ", KEY):
        assert send(site, key=key, status=401).json == {"error": "unknown_api_key"}


def test_a_body_without_an_address_is_400(storage):
    for body in ("[]", "{}", '{"baseUrl": 7}', '{"baseUrl": "http://files.example.org"}'):
        answer = storage.post(ADDRESS, body, headers={"X-Api-Key": KEY}, status=400)
        assert (answer.json["error"], "baseUrl" in answer.json["message"]) == ("invalid_input", body != "[]")
    assert stored(storage) is None


ORIGINS = {
    "https://a": "https://a",
    "HTTPS://Files.EXAMPLE.org": "https://files.example.org",
    "https://files.example.org:443/": "https://files.example.org",
    "https://files.example.org:65535": "https://files.example.org:65535",
    "https://xn--bcher-kva.example": "https://xn--bcher-kva.example",
    "https://a_b-c.example": "https://a_b-c.example",
    "https://mylocalhost": "https://mylocalhost",
    "https://10.0.0.5:9000": "https://10.0.0.5:9000",
    "https://[2001:DB8:0:0::1]:8443": "https://[2001:db8::1]:8443",
    "https://1.example": "https://1.example",
}


NO_ORIGINS = """
http://files.example.org|ftp://files.example.org|//files.example.org|files.example.org|https:files.example.org|https:/a
https://|https:///|https://:443|https://a:|https://a:0|https://a:00443|https://a:65536|https://a:99999|https://a:-1
https://a:4_3|https://a:+443|https://a:443:443|https://a:x|https://a//|https://a/b|https://a/.|https://a/%2f|https://a/;
https://a?|https://a/?|https://a#|https://a/#|https://a?b|https://a#b|https://@a|https://u@a|https://u:p@a|https://:@a
https://a@|https://a\\|https://a\\@b|https:\\\\a|https://a\\b|https://a b|https://a%20b|https://%61|https://a,b|https://a;b
https://.|https://..|https://a..b|https://.a|https://-a|https://a-|https://a.-b|https://*.a|https://a|b
https://localhost|https://LOCALHOST|https://localhost.|https://a.localhost|https://a.LocalHost.|https://localhost:8443
https://127.0.0.1|https://127.1|https://127.255.0.1|https://2130706433|https://0x7f.0.0.1|https://0x7f000001|https://0177.0.0.1
https://127.0.0.1.|https://1.2.3|https://1.2.3.4.5|https://1.2.3.256|https://01.2.3.4|https://a.1|https://a.0x|https://1.2.3.4.
https://0.0.0.0|https://0|https://0.1.2.3|https://169.254.169.254|https://224.0.0.1|https://239.1.2.3
https://[::]|https://[::1]|https://[0:0:0:0:0:0:0:1]|https://[fe80::1]|https://[fe80::1%25eth0]|https://[fe80::1%eth0]
https://[ff02::1]|https://[::ffff:127.0.0.1]|https://[::ffff:7f00:1]|https://[::127.0.0.1]|https://[64:ff9b::7f00:1]
https://[2002:7f00:1::]|https://[::ffff:169.254.169.254]|https://[::ffff:0:0]|https://[64:ff9b::a9fe:a9fe]
https://[]|https://[1]|https://[::1|https://::1|https://2001:db8::1|https://[2001:db8::1]x|https://[v1.a]|https://[1.2.3.4]
""".replace("https://a|b", "https://a,b")


INSIDE = """
255.255.255.255|[::ffff:255.255.255.255]|[2002:ffff:ffff::1]|[64:ff9b::255.255.255.255]|0.0.0.0|0.1.2.3|[::]
[2001:0:7f00:1::]|[2001::1]|[2001:0:4136:e378:8000:63bf:3fff:fdd2]|[2001:0:ffff:ffff:ffff:ffff:ffff:ffff]
[::ffff:127.0.0.1]|[::ffff:0:127.0.0.1]|[::127.0.0.1]|[64:ff9b::7f00:1]|[64:ff9b:1::7f00:1]|[2002:7f00:1::]
[2002:a9fe:a9fe::]|[::ffff:169.254.169.254]|169.254.169.254|[fd00:ec2::254]|[FD00:0EC2:0:0:0:0:0:254]
100.100.100.200|[::ffff:100.100.100.200]|[2002:6464:64c8::1]|168.63.129.16|192.0.0.192
metadata.google.internal|METADATA.google.internal.|metadata|instance-data|metadata.goog|metadata.azure.internal|a.localhost|localhost.
"""
NO_HOSTS = "xn--a|xn--|xn--0|a.xn--a|xn--a.example|xn--zn7c|xn--a-ecp.ru|xn--abc-|xn--example-|xn--ls8h.xn--a"
# What decodes, and is not what a browser would have encoded: capitals, ligatures, accents apart, nothing to see.
SHOWN = ["B\u00dccher", "bu\u0308cher", "\ufb01x", "\u0301a", "a\u00adb", "a\u200bb", "a\ufe0f", "\u2003x", "\ue000"]
SHOWN += ["\U0010ffff", "\u05d0a", "a\u05d0", "a\u0661"]


ODD = [
    "", " https://a", "https://a\n", "ht\ntps://a", "https://a\0",
    "https://b\u00fccher.example", "https://\uff4cocalhost", "https://a\u3002b", "https://\u212a.example",
    "https://" + "a" * 64, "https://" + ".".join(["a" * 60] * 5), "https://a:" + "9" * 10_000,
]  # fmt: skip
"""What cannot be seen, or ends nowhere."""
REFUSED = [origin for line in NO_ORIGINS.split("\n") for origin in line.split("|") if origin] + ODD
REFUSED += [f"https://{host}:8443" for line in INSIDE.split() for host in line.split("|")]
for shown in (*NO_HOSTS.split("|"), *("xn--" + name.encode("punycode").decode() for name in SHOWN)):
    REFUSED += [f"https://{shown}", f"https://files.{shown}", f"https://{shown}.example.org"]


@pytest.mark.parametrize("origin", REFUSED)
def test_what_is_no_origin_or_leads_back_inside(origin):
    # C-ADDR-3, T-C15
    with pytest.raises(ValueError):  # noqa: PT011 - one answer for all
        parse_origin(origin)


HOSTS = [
    "xn--mnchen-3ya.de", "xn--strae-oqa.de", "xn--nxasmq6b.gr", "xn--4dbrk0ce", "xn--wgbh1c", "xn--ls8h.example",
    "xn--fiqs8s", "xn--p1ai", "xn--mgberp4a5d4ar", "metadata.example.org", "my-metadata", "100.100.100.201",
    "[fd00:ec2::1]", "[2001:db8::1]", "[2002:5db8:d822::1]", "[64:ff9b::5db8:d822]",
    "a_b.example",
]  # fmt: skip


@pytest.mark.parametrize(("origin", "stored"), [*ORIGINS.items(), *((f"https://{host}",) * 2 for host in HOSTS)])
def test_origins(origin, stored):
    # C-ADDR-3, C-ADDR-5
    assert parse_origin(origin) == stored
    assert parse_origin(stored) == stored


@pytest.mark.postgres
def test_of_equal_reports_at_once_one_has_changed_it(storage):
    for number in range(5):
        origin = f"https://host-{number}"
        answers = [answer.json for answer in at_once([partial(send, storage, origin)] * 8)]
        assert {answer["baseUrl"] for answer in answers} == {origin}
        assert [answer["changed"] for answer in answers].count(True) == 1
        assert stored(storage) == origin


def test_another_process_follows_within_five_seconds(storage, start, monkeypatch):
    # C-ADDR-5
    other = start("", url=str(storage.registry.settings["sqlalchemy.url"]))
    clock, theirs = Clock(monkeypatch, services), CurrentAddress(other.databases.raw_queries)
    addresses = [None, HOST, f"{HOST}:8443"]
    for before, address in pairwise(addresses):
        assert theirs.current() == before
        send(storage, address)
        # The database is not asked each time.
        clock.forward(STALE_SECONDS - 0.01)
        assert theirs.current() == before
        clock.forward(0.01)
        assert theirs.current() == address
    assert STALE_SECONDS < 5


def test_a_report_asks_nobody_and_leaves_local_files_alone(start, monkeypatch):
    # C-ADDR-5, T-C15
    site = start(modhub__storage_address_key=KEY)
    mod = published_mod(site)

    def asked(*_):
        raise AssertionError("the report went out")

    with monkeypatch.context() as patch:
        for name in ("getaddrinfo", "create_connection"):
            patch.setattr(f"socket.{name}", asked)
        if site.databases.dialect == "sqlite":
            patch.setattr("socket.socket.connect", asked)
        assert send(site).json["changed"] is True
    assert site.get(mod_address(mod, "download")).body == b"code of " + mod["guid"].encode()
    upload_asset(site, mod, "code", b"after the report", version="2")
    assert site.get(mod_address(mod, "download")).body == b"after the report"
    assert len(stored_files(site)) == 2
