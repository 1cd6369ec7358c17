"""The container files in ``deploy/``, as far as a machine without a container engine can tell."""

import re
import shlex
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from string import Template

import pytest
from ruamel.yaml import YAML

import modhub
from modhub.base.ini_file import application_settings
from modhub.base.service_registry import find_service
from modhub.db import Databases
from modhub_testing.nginx import Proxy
from modhub_testing.service import free_port

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
GIVEN = {
    "MODHUB_HOST": "mods.example.net",
    "POSTGRES_PASSWORD": "p@ss/wo:rd",
    "MODHUB_SECRET": "s" * 32,
    "STORE_ACCESS_KEY": "key",
    "STORE_SECRET_KEY": "secret",
    "CERTIFICATE": "/certificate",
    "MAIL_HOST": "mail.example.net",
    "BACKUPS": "/backups",
}
VARIABLE = re.compile(r"(?<!\$)\$\{(\w+)(?::[-?]([^}]*))?\}")


def program(name):
    return Path(sys.executable).with_name(name)


def lint(*command):
    ended = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=100)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def filled(value):
    """The value with an operator's values in place of its variables."""
    if isinstance(value, dict):
        return {name: filled(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner) for inner in value]
    if isinstance(value, str):
        return VARIABLE.sub(lambda variable: GIVEN.get(variable[1], variable[2] or ""), value).replace("$$", "$")
    return value


@pytest.fixture(scope="module")
def compose():
    """compose.yaml as Compose reads it."""
    return filled(YAML(typ="safe").load((DEPLOY / "compose.yaml").read_text()))


def test_the_files_are_what_docker_and_compose_expect():
    lint(program("hadolint"), "--no-color", DEPLOY / "Dockerfile")
    lint(program("check-jsonschema"), "--builtin-schema", "vendor.compose-spec", DEPLOY / "compose.yaml")


def test_the_image_gets_only_what_it_needs_and_runs_as_nobody_of_importance():
    ignored = (ROOT / ".dockerignore").read_text().split("\n")
    assert ignored[1] == "*"
    for line in ignored:
        assert not line.startswith("!") or list(ROOT.glob(line[1:])), line
    for manifest in (*ROOT.glob("modhub*/pyproject.toml"), ROOT / "clients/pyproject.toml"):
        top = manifest.relative_to(ROOT).parts[0]
        assert any(fnmatch(top, line[1:]) for line in ignored if line.startswith("!")), top
    stages = (DEPLOY / "Dockerfile").read_text().split("\nFROM ")
    assert "\nUSER 10001:10001\n" in stages[-1]
    assert "\nHEALTHCHECK " in stages[-1]
    assert "\nCOPY . ." not in stages[-1]
    # What its sed changes is there to be changed.
    ini = (ROOT / "production.ini").read_text()
    for pattern in re.findall(r"s/(\^\S+ = )\.\*/", "\n".join(stages)):
        assert re.search(pattern, ini, re.MULTILINE), pattern


def test_every_variable_is_in_the_example(compose):
    named = {variable[1] for variable in VARIABLE.finditer((DEPLOY / "compose.yaml").read_text())}
    example = re.findall(r"^(\w+)=", (DEPLOY / "example.env").read_text(), re.MULTILINE)
    assert sorted(named) == sorted(example)


def test_the_service_understands_its_settings(compose, monkeypatch):
    for name, value in compose["services"]["modhub-1"]["environment"].items():
        monkeypatch.setenv(name, value)
    registry = modhub.configure(application_settings(str(ROOT / "production.ini"))).registry
    find_service(registry, Databases).dispose()
    settings = registry.settings
    assert settings["modhub.base_url"] == "https://mods.example.net"
    assert settings["modhub.storage"] == "s3://modhub/files"
    assert (settings["mail.host"], settings["mail.port"], settings["mail.tls"]) == ("mail.example.net", 587, True)
    assert settings["modhub_sync.snapshot_hours"] == 24
    # Each of them is a setting, or the password that PostgreSQL's own library reads.
    known = {name.upper().replace(".", "_") for name in settings} | {"PGPASSWORD"}
    assert compose["services"]["modhub-1"]["environment"].keys() - known == set()


def test_every_service_is_watched_restarted_and_started_in_order(compose):
    services = compose["services"]
    lasting = {"database", "store", "modhub-1", "modhub-2", "jobs", "nginx"}
    assert lasting | {"migrate", "bucket"} == services.keys()
    for name in lasting:
        assert services[name]["restart"] == "unless-stopped"
        assert "healthcheck" in services[name] or services[name]["image"] == "modhub"  # the image has its own
    for name, service in services.items():
        for needed, how in service.get("depends_on", {}).items():
            condition = "service_healthy" if needed in lasting else "service_completed_successfully"
            assert how["condition"] == condition, (name, needed)
        assert re.search(r":[\w.]+-?\w*$", service["image"]) or service["image"] == "modhub", "a version"
    # One bound of memory for a process, however it is started.
    (most,) = re.findall(r"^MemoryMax=(\d+)M$", (DEPLOY / "modhub@.service").read_text(), re.MULTILINE)
    ours = [service for service in services.values() if service["image"] == "modhub"]
    assert {service["mem_limit"] for service in ours} == {f"{most}m"}
    # Nobody but nginx is reached from outside, and the image trusts its address.
    assert [name for name, service in services.items() if "ports" in service] == ["nginx"]
    address = services["nginx"]["networks"]["front"]["ipv4_address"]
    assert f"trusted_proxy = {address}/" in (DEPLOY / "Dockerfile").read_text()


def test_the_jobs_run_every_night_and_what_fails_is_told(compose, tmp_path):
    programs = {
        # The first night begins at once, the second never.
        "sleep": 'echo "sleep $1" >> log; [ ! -e slept ] && : > slept',
        "modhub-admin": 'shift 2; echo "$1" >> log; [ "$1" != "$BROKEN" ]',
        "find": 'echo "find $1" >> log',
    }
    for name, script in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    entrypoint, (script,) = compose["services"]["jobs"]["entrypoint"], compose["services"]["jobs"]["command"]
    nights = {}
    for broken in ("nothing", "backup", "sweep"):
        environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "BROKEN": broken}
        subprocess.run([*entrypoint, script], cwd=tmp_path, env=environ, check=False, timeout=100)
        first, *nights[broken], _ = (tmp_path / "log").read_text().splitlines()
        assert 0 < int(first.removeprefix("sleep ")) <= 86400
        (tmp_path / "log").unlink()
        (tmp_path / "slept").unlink()
    assert nights["nothing"] == ["backup", "backup", "find /backups", "sweep", "letters", "doctor"]
    assert nights["backup"] == ["backup", "alarm", "sweep", "letters", "doctor"]
    assert nights["sweep"] == ["backup", "backup", "find /backups", "sweep", "alarm", "letters", "doctor"]


@pytest.fixture
def rewritten(compose, tmp_path):
    """The site as the container's command makes it from the shipped one."""
    command = compose["services"]["nginx"]["command"][0].partition(" > ")[0]
    words = [Template(word).safe_substitute(GIVEN) for word in shlex.split(command)]
    assert words[-1] == "/modhub.conf"
    made = subprocess.run([*words[:-1], str(DEPLOY / "nginx.conf")], capture_output=True, check=True, timeout=100)
    site = tmp_path / "site.conf"
    site.write_bytes(made.stdout)
    return site


def test_nginx_in_a_container_gets_the_same_site(rewritten, tmp_path):
    site = rewritten.read_text()
    for gone in ("mods.example.org", "127.0.0.1:65", "/etc/ssl", "/var/log"):
        assert gone not in site
    assert "server modhub-1:6543 max_fails=0;\n    server modhub-2:6543 max_fails=0;" in site
    assert "server_name mods.example.net;" in site
    # nginx looks up the names of the other containers when it starts; here are none.
    for name, shipped in {
        "modhub-1:6543": "127.0.0.1:6543",
        "modhub-2:6543": "127.0.0.1:6544",
        "/certificate/site.crt": "/etc/ssl/certs/mods.example.org.crt",
        "/certificate/site.key": "/etc/ssl/private/mods.example.org.key",
        "access_log /dev/stdout": "access_log /var/log/nginx/modhub.log",
    }.items():
        assert name in site
        site = site.replace(name, shipped)
    rewritten.write_text(site)
    lint(*Proxy(tmp_path / "nginx", rewritten, [free_port(), free_port()]).command("-t"))
