"""docs/operations.md, followed command by command on a bare Debian with systemd (``make soak``)."""

import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
HOST = "mods.example.org"
SMTP = "systemd-run --quiet --unit=mail-sink python3 -W ignore -u -m smtpd -n -c DebuggingServer 127.0.0.1:25"
# Asks for a page as fast as it can, over new connections, until it is interrupted.
WATCHER = f""" <<'END'
import http.client, socket, ssl, time
context = ssl.create_default_context(cafile="/etc/ssl/certs/{HOST}.crt")
answered = failed = 0
try:
    while True:
        connection = http.client.HTTPSConnection("{HOST}", timeout=60, context=context)
        plain = socket.create_connection(("127.0.0.1", 443))
        connection.sock = context.wrap_socket(plain, server_hostname="{HOST}")
        connection.request("GET", "/api/modhub")
        answer = connection.getresponse()
        answer.read()
        answered += 1
        failed += answer.status != 200
        connection.close()
        time.sleep(0.02)
except KeyboardInterrupt:
    print("answered", answered, "failed", failed)
END
"""
# What certbot and DNS would do.
KNOW_HOST = f"""
cp /etc/ssl/certs/{HOST}.crt /usr/local/share/ca-certificates/ && update-ca-certificates
echo '127.0.0.1 {HOST}' >> /etc/hosts
"""
# Everything after it needs a running systemd, and no network.
LAST_STEP_BEFORE_BOOT = "3. The user and the code"


def steps(text: str) -> list[tuple[str, str]]:
    """The commands of the document in order, with the headings above them; ``sh internet`` is left out."""
    commands, heading = [], ""
    for line in re.finditer(r"^(#+ (?P<heading>.+)|```sh\n(?P<commands>(?:.*\n)*?)```)$", text, re.MULTILINE):
        if line["heading"]:
            heading = line["heading"]
        else:
            commands.append((heading, line["commands"]))
    return commands


class Operator:
    """Runs the steps of the document on a machine; what the first one exports holds for all."""

    def __init__(self, machine: Any, exports: str) -> None:
        self.machine = machine
        self.exports = exports

    def follow(self, commands: str) -> str:
        output: str = self.machine.run(f"{self.exports}\n{commands}").stdout
        return output


@pytest.fixture(scope="module")
def operator(debian: Any, source: Path) -> Operator:
    """The operator of a machine on which the document was followed up to its last step."""
    written = dict.fromkeys(heading for heading, _ in steps((ROOT / "docs" / "operations.md").read_text("utf-8")))
    assert len(written) > 11
    (_, first), *rest = steps((ROOT / "docs" / "operations.md").read_text("utf-8"))
    exports, changed = re.subn(r"(?<=SOURCE=)\S+", "/srv/modhub.git", first)
    assert changed == 1
    shutil.copytree(source, debian.root / "srv" / "modhub.git")
    operator = Operator(debian, exports)
    installed = [heading for heading, _ in rest].index(LAST_STEP_BEFORE_BOOT) + 1
    for _, commands in rest[:installed]:
        operator.follow(commands)
    debian.boot()
    debian.run(SMTP)
    for heading, commands in rest[installed:]:
        if heading == "Upgrading":
            break
        if heading.startswith("10."):
            debian.run(KNOW_HOST)
        operator.follow(commands)
    return operator


def test_the_document_leads_to_a_service(operator: Operator) -> None:
    run = operator.machine.run
    ready = "curl -sf http://127.0.0.1:6543/readyz http://127.0.0.1:6544/readyz"
    assert run(ready).stdout.count('"storage":"ok"') == 2
    pids = run("systemctl show --property=MainPID --value modhub@6543 modhub@6544").stdout.split()
    assert run(f"stat --format=%U /proc/{pids[0]} /proc/{pids[1]}").stdout.split() == ["modhub", "modhub"]
    assert run("systemctl list-units --failed --plain --no-legend").stdout == ""
    timers = "modhub-audit.timer modhub-backup.timer modhub-letters.timer modhub-sweep.timer"
    assert run(f"systemctl is-active {timers}").stdout.split() == ["active"] * 4
    assert "audit verify --expect " in run("journalctl --quiet --output=cat --unit=modhub-audit").stdout
    assert run("find /var/backups/modhub -mindepth 1 -maxdepth 1 -type d -name '20*Z'").stdout != ""
    wait(lambda: "operator@example.org" in run("journalctl --quiet --unit=mail-sink").stdout, "an email has arrived")


def test_everything_belongs_to_whom_it_should(operator: Operator) -> None:
    run = operator.machine.run
    assert run("stat --format='%U %a' /var/lib/modhub/files /var/backups/modhub").stdout == "modhub 700\n" * 2
    assert run("find /var/lib/modhub /var/backups/modhub ! -user modhub").stdout == ""
    assert run("find /opt/modhub ! -user root -o ! -type l -perm -o=w").stdout == ""
    assert run("stat --format='%U:%G %a' /etc/modhub/*").stdout == "root:modhub 640\nroot:root 600\n"
    assert run("runuser -u nobody -- cat /etc/modhub/modhub.ini", check=False).returncode != 0


def test_modhub_admin_gets_every_word_as_it_is(operator: Operator) -> None:
    run = operator.machine.run
    name = """Cost $HOME $$ 100% "two"  words"""
    run(f"modhub-admin game add '{name}'")
    assert name in run("modhub-admin game list").stdout
    assert run("modhub-admin account show nobody@example.org", check=False).returncode == 1
    assert run("modhub-admin nonsense", check=False).returncode == 2


def test_a_file_goes_up_and_comes_down_under_the_restrictions(operator: Operator) -> None:
    send_and_compare(operator)


def send_and_compare(operator: Operator) -> None:
    # Spooled to a temporary file, stored, sent with sendfile: each of these needs rights of its own.
    ended = operator.machine.run(f"""
        base=https://{HOST} trust='--cacert /etc/ssl/certs/{HOST}.crt --resolve {HOST}:443:127.0.0.1 -sSf'
        head -c 20000000 /dev/urandom > /tmp/mod.zip
        given='{{"email":"operator@example.org","password":"ten characters or more"}}'
        token=$(curl $trust $base/api/auth/login -d "$given" |
            sed 's/.*"accessToken":"\\([^"]*\\)".*/\\1/')
        mod=$(curl $trust -H "Authorization: Bearer $token" $base/api/modhub -d '{{"title":"Large"}}' |
            python3 -c 'import json, sys; print(json.load(sys.stdin)["id"])')
        curl $trust -H "Authorization: Bearer $token" "$base/api/modhub/$mod/code?version=1&name=a.zip" \\
            --data-binary @/tmp/mod.zip > /dev/null
        curl $trust -H "Authorization: Bearer $token" -X POST $base/api/modhub/$mod/publish > /dev/null
        curl $trust $base/api/modhub/$mod/download | cmp - /tmp/mod.zip && echo equal""")
    assert ended.stdout == "equal\n"


def test_nginx_sends_files_by_itself_when_it_may(operator: Operator) -> None:
    operator.follow(dict(steps((ROOT / "docs" / "operations.md").read_text("utf-8")))["Downloads sent by nginx"])
    operator.machine.run("runuser -u www-data -- ls /var/lib/modhub/files > /dev/null")
    assert operator.machine.run("runuser -u nobody -- ls /var/lib/modhub/files", check=False).returncode != 0
    send_and_compare(operator)


def test_an_upgrade_loses_no_request(operator: Operator) -> None:
    run = operator.machine.run
    run("cd /srv/modhub.git && echo >> README.md && git -c user.name=t -c user.email=t@example.org commit -qam newer")
    run("cat > /root/watch.py" + WATCHER)
    run("systemd-run --quiet --unit=watch python3 -u /root/watch.py")
    before = run("systemctl show --property=MainPID --value modhub@6543 modhub@6544").stdout.split()
    operator.follow(dict(steps((ROOT / "docs" / "operations.md").read_text("utf-8")))["Upgrading"])
    after = run("systemctl show --property=MainPID --value modhub@6543 modhub@6544").stdout.split()
    assert not set(before) & set(after)
    run("systemctl kill --signal=INT watch && while systemctl --quiet is-active watch; do sleep 0.1; done")
    journal = run("journalctl --quiet --output=cat --unit=watch").stdout
    answered, failed = map(int, re.findall(r"^answered (\d+) failed (\d+)$", journal, re.MULTILINE)[0])
    assert (failed, answered > 100) == (0, True), journal


def test_a_late_database_and_a_crash_need_no_hand(operator: Operator) -> None:
    run = operator.machine.run
    database = "postgresql.service postgresql@15-main.service"
    run(f"systemctl stop modhub@6543 {database} && systemctl mask --quiet --runtime {database}")
    run("systemctl start --no-block modhub@6543")
    wait(lambda: int(run("systemctl show --property=NRestarts --value modhub@6543").stdout) > 0, "it was tried again")
    run(f"systemctl unmask --quiet --runtime {database} && systemctl start {database}")
    wait(lambda: run("systemctl is-active modhub@6543", check=False).returncode == 0, "it has found the database")
    run("systemctl kill --signal=KILL modhub@6544")
    wait(lambda: run("curl -sf http://127.0.0.1:6544/readyz", check=False).returncode == 0, "it came back")


def test_everything_comes_back_after_a_reboot(operator: Operator) -> None:
    operator.machine.shut_down()
    operator.machine.boot()
    trust = f"--cacert /etc/ssl/certs/{HOST}.crt --resolve {HOST}:443:127.0.0.1"
    command = f"curl -sf {trust} https://{HOST}/api/modhub/1"
    wait(lambda: operator.machine.run(command, check=False).returncode == 0, "it responds")
    assert operator.machine.run("systemctl list-units --failed --plain --no-legend").stdout == ""


def wait(holds: Callable[[], bool], what: str, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.5)
