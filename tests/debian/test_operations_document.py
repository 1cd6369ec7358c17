"""docs/operations.md, followed command by command on a bare Debian with systemd (``make test-debian``)."""

import json
import re
import shlex
import shutil
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
HOST = "mods.example.org"
SMTP = "systemd-run --quiet --unit=mail-sink python3 -W ignore -u -m smtpd -n -c DebuggingServer 127.0.0.1:25"
# What certbot and DNS would do.
KNOW_HOST = f"""
cp /etc/ssl/certs/{HOST}.crt /usr/local/share/ca-certificates/ && update-ca-certificates
echo '127.0.0.1 {HOST}' >> /etc/hosts
"""
# Everything after it needs a running systemd, and no network.
LAST_STEP_BEFORE_BOOT = "3. The user and the code"
LAST_STEP = "11. Try it"
GUEST_PROGRAMS = ("walk.py", "load.py")


def steps(text):
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

    def __init__(self, machine, exports):
        self.machine = machine
        self.exports = exports

    def follow(self, commands):
        return self.machine.run(f"{self.exports}\n{commands}").stdout

    def section(self, heading):
        """Follow the commands of one section."""
        return self.follow(dict(steps((ROOT / "docs" / "operations.md").read_text("utf-8")))[heading])

    def walk(self):
        """What people do, through nginx: its mod and the formats of its pictures."""
        command = f"/opt/modhub/.venv/bin/python -W error /root/walk.py https://{HOST}"
        return json.loads(self.machine.run(command).stdout)


@pytest.fixture(scope="module")
def operator(debian, source):
    """The operator of a machine on which the document was followed up to its last step."""
    (_, first), *rest = steps((ROOT / "docs" / "operations.md").read_text("utf-8"))
    headings = [heading for heading, _ in rest]
    assert len(dict.fromkeys(headings)) > 11
    exports, changed = re.subn(r"(?<=SOURCE=)\S+", "/srv/modhub.git", first)
    assert changed == 1
    shutil.copytree(source, debian.root / "srv" / "modhub.git")
    for name in GUEST_PROGRAMS:
        shutil.copy(Path(__file__).with_name(name), debian.root / "root")
    operator = Operator(debian, exports)
    installed = headings.index(LAST_STEP_BEFORE_BOOT) + 1
    for _, commands in rest[:installed]:
        operator.follow(commands)
    debian.boot()
    debian.run(SMTP)
    for heading, commands in rest[installed : headings.index(LAST_STEP) + 1]:
        if heading.startswith("10."):
            debian.run(KNOW_HOST)
        operator.follow(commands)
    return operator


def test_the_document_leads_to_a_service(operator):
    run = operator.machine.run
    ready = "curl -sf http://127.0.0.1:6543/readyz http://127.0.0.1:6544/readyz"
    assert run(ready).stdout.count('{"status":"ok","database":"ok","storage":"ok","passwords":"ok","freeBytes":{') == 2
    assert problems(operator) == []
    pids = run("systemctl show --property=MainPID --value modhub@6543 modhub@6544").stdout.split()
    uids = run(f"awk '/^Uid:/ {{print $2}}' /proc/{pids[0]}/status /proc/{pids[1]}/status").stdout.split()
    assert uids == [run("id --user modhub").stdout.strip()] * 2
    # T-A10b
    assert all(run(f"runuser -u modhub -- cat /proc/{pid}/environ", check=False).returncode == 1 for pid in pids)
    assert run("systemctl list-units --failed --plain --no-legend").stdout == ""
    assert run("find /var/backups/modhub -mindepth 1 -maxdepth 1 -type d -name '20*Z'").stdout != ""
    wait(lambda: "operator@example.org" in run("journalctl --quiet --unit=mail-sink").stdout, "an email has arrived")


def test_every_shipped_file_is_installed_as_it_is_and_works(operator):
    run = operator.machine.run
    journal = run("journalctl --quiet --output=cat --unit='modhub*'").stdout
    for path in (*DEPLOY.glob("*.service"), *DEPLOY.glob("*.timer")):
        run(f"cmp /opt/modhub/deploy/{path.name} /etc/systemd/system/{path.name}")
    for path in DEPLOY.glob("*.service"):
        unit = path.name.replace("@", "@try" if path.stem == "modhub-alarm@" else "@6543")
        assert re.search(rf"^(Started|Finished) {unit} - ", journal, re.MULTILINE), f"{unit} has not run"
    for path in DEPLOY.glob("*.timer"):
        shown = run(f"systemctl show --property=ActiveState,Triggers,NextElapseUSecRealtime {path.name}").stdout
        assert {"ActiveState=active", f"Triggers={path.stem}.service"} <= set(shown.splitlines())
        assert "NextElapseUSecRealtime=\n" not in shown, f"{path.name} never elapses"
    run("cmp /opt/modhub/deploy/modhub-admin /usr/local/sbin/modhub-admin")
    run(f"sed 's/mods\\.example\\.org/{HOST}/' /opt/modhub/deploy/nginx.conf | cmp - /etc/nginx/conf.d/modhub.conf")


def test_everything_belongs_to_whom_it_should(operator):
    run = operator.machine.run
    assert run("stat --format='%U %a' /var/lib/modhub/files /var/backups/modhub").stdout == "modhub 700\n" * 2
    assert run("find /var/lib/modhub /var/backups/modhub ! -user modhub").stdout == ""
    assert run("find /opt/modhub ! -user root -o ! -type l -perm -o=w").stdout == ""
    assert run("stat --format='%U:%G %a' /etc/modhub/*").stdout == "root:modhub 640\nroot:root 600\n"
    assert run("runuser -u nobody -- cat /etc/modhub/modhub.ini", check=False).returncode != 0
    assert run("runuser -u modhub -- ls /opt/modhub/.git", check=False).returncode != 0


def test_modhub_admin_gets_every_word_as_it_is(operator):
    run = operator.machine.run
    name = """Cost $HOME $$ 100% "two"  words"""
    run(f"modhub-admin game add '{name}'")
    assert name in run("modhub-admin game list").stdout
    assert run("modhub-admin account show nobody@example.org", check=False).returncode == 1
    assert run("modhub-admin nonsense", check=False).returncode == 2


def test_people_can_do_everything_under_the_restrictions(operator):
    assert operator.walk()["pictures"] == ["JPEG", "WEBP"]


def test_a_backup_is_whole_and_can_be_restored(operator):
    run = operator.machine.run
    run("systemctl start modhub-backup.service")
    newest = run("ls -d /var/backups/modhub/20*Z | tail -1").stdout.strip()
    assert "and was loaded into a scratch database" in run("journalctl --quiet --unit=modhub-backup").stdout
    # Into another place: a database and files of its own.
    run(f"""
        cd / && runuser -u postgres -- createdb --owner=modhub --encoding=UTF8 --template=template0 other
        install -d -o modhub -g modhub /srv/other
        sed -e '/^sqlalchemy.url/s|/modhub?|/other?|' \\
            -e 's|^modhub.storage = .*|modhub.storage = file:///srv/other/files|' \\
            /etc/modhub/modhub.ini > /srv/other/modhub.ini
        chmod 0644 /srv/other/modhub.ini
        for words in {shlex.quote(f"restore {newest}")} verify; do
            systemd-run --quiet --pipe --wait --collect --uid=modhub --gid=modhub \\
                --property=EnvironmentFile=/etc/modhub/secrets.env --property=WorkingDirectory=/srv/other \\
                -- /opt/modhub/.venv/bin/modhub-admin -c /srv/other/modhub.ini $words
        done""")
    count = "select count(*) from core_mod"
    counts = {run(f"cd / && runuser -u postgres -- psql -Atc '{count}' {name}").stdout for name in ("modhub", "other")}
    assert len(counts) == 1
    assert counts != {"0\n"}


def test_nginx_sends_files_by_itself_when_it_may(operator):
    operator.section("Downloads sent by nginx")
    operator.machine.run("runuser -u www-data -- ls /var/lib/modhub/files > /dev/null")
    assert operator.machine.run("runuser -u nobody -- ls /var/lib/modhub/files", check=False).returncode != 0
    operator.walk()


def test_an_upgrade_starts_both_processes_anew(operator):
    before = running_processes(operator)
    operator.section("Upgrading")
    assert not before & running_processes(operator)
    operator.walk()


def test_a_restart_loses_no_request(operator):
    run = operator.machine.run
    mod = operator.walk()["mod"]
    run(f"systemd-run --quiet --unit=load /opt/modhub/.venv/bin/python -u /root/load.py https://{HOST} {mod}")
    before = running_processes(operator)
    operator.section("Restarting")
    assert not before & running_processes(operator)
    operator.walk()
    run("systemctl kill --signal=INT load && while systemctl --quiet is-active load; do sleep 0.1; done")
    journal = run("journalctl --quiet --output=cat --unit=load").stdout
    outcome = json.loads(next(line for line in journal.splitlines() if line.startswith('{"answered"')))
    assert (outcome["failures"], outcome["answered"] > 100) == ([], True), journal
    assert problems(operator) == []


def problems(operator):
    """What ``doctor`` finds."""
    lines = operator.machine.run("modhub-admin doctor", check=False).stdout.splitlines()
    assert lines
    return [line for line in lines if not line.endswith(": ok")]


def running_processes(operator):
    """The process ids of the two servers."""
    pids = operator.machine.run("systemctl show --property=MainPID --value modhub@6543 modhub@6544").stdout.split()
    assert len(pids) == 2
    assert "0" not in pids
    return set(pids)


def test_a_late_database_and_a_crash_need_no_hand(operator):
    run = operator.machine.run
    database = "postgresql.service postgresql@15-main.service"
    run(f"systemctl stop modhub@6543 {database} && systemctl mask --quiet --runtime {database}")
    run("systemctl start --no-block modhub@6543")
    wait(lambda: int(run("systemctl show --property=NRestarts --value modhub@6543").stdout) > 0, "it was tried again")
    run(f"systemctl unmask --quiet --runtime {database} && systemctl start {database}")
    wait(lambda: run("systemctl is-active modhub@6543", check=False).returncode == 0, "it has found the database")
    run("systemctl kill --signal=KILL modhub@6544")
    wait(lambda: run("curl -sf http://127.0.0.1:6544/readyz", check=False).returncode == 0, "it came back")


def test_everything_comes_back_after_a_reboot(operator):
    operator.machine.shut_down()
    operator.machine.boot()
    command = f"curl -sf https://{HOST}/api/modhub/1"
    wait(lambda: operator.machine.run(command, check=False).returncode == 0, "it responds")
    assert operator.machine.run("systemctl list-units --failed --plain --no-legend").stdout == ""


def test_the_restrictions_refused_nothing_and_nothing_went_wrong(operator):
    """The last of all: the journal of the whole time."""
    journal = operator.machine.run("journalctl --quiet --output=cat --unit='modhub*'").stdout
    assert '"path": "/api/auth/login"' in journal
    for sign in ("the system refuses", "Traceback", '"status": 500', "ALARM"):
        assert [line for line in journal.splitlines() if sign in line] == []


def wait(holds, what, seconds=120):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.5)
