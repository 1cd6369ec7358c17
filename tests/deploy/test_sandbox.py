"""The service under a filter of system calls that refuses what it can do without; test-debian has its unit's."""

import io
import os
import re
import sys
import time
from pathlib import Path

from PIL import Image

from modhub_testing.caller import Caller
from modhub_testing.service import PASSWORD, Installation

SANDBOX = Path(__file__).with_name("sandbox.py")
MISSED = re.compile(r"the system refuses (.+?) \(.+?\): ")
# By what is refused, what the log says that the service does without.
OPTIONAL = {
    "setpriority": {"setpriority", "nice to the decoder"},
    "prlimit64": {"setrlimit", "setrlimit to the decoder"},
    "landlock_restrict_self": {"landlock to the decoder"},
    "prctl:0=4": {"PR_SET_DUMPABLE"},
    "setsockopt:2=25": {"TCP_NOTSENT_LOWAT"},
}
# Nothing asks for these by itself, but a library may.
UNUSED = [
    "memfd_create",
    "fadvise64",
    "copy_file_range",
    "sched_setaffinity",
    "ioprio_set",
    "mlock",
    "fallocate",
    "sendfile",
    "linkat",
]


def test_everything_works_and_the_log_says_once_what_is_missed(tmp_path):
    service = Installation(tmp_path, f"sqlite:///{tmp_path}/modhub.sqlite", "modhub_auth")
    assert service.admin("migrate").returncode == 0
    process = service.start([sys.executable, "-I", str(SANDBOX), *OPTIONAL, *UNUSED, "--"])
    try:
        for name in ("first", "second"):
            walk(service, name)
        assert Caller([process.port]).ask("GET", "/readyz").json["passwords"] == "ok"
    finally:
        service.stop()
    log = service.log()
    assert "Traceback" not in log
    assert sorted(MISSED.findall(log)) == sorted(set().union(*OPTIONAL.values()))


def walk(service, name):
    """Register, sign in, upload a file and an image, publish, download, and wait for the pictures."""
    service.register(name)
    credentials = {"email": f"{name}@example.org", "password": PASSWORD}
    owner = service.caller(service.caller().need(200, "POST", "/api/auth/login", credentials)["accessToken"])
    code = os.urandom(3_000_000)
    mod_id = owner.new_mod(name)["id"]
    assert owner.send_file(mod_id, "code", code, version="1").status == 201
    assert owner.send_file(mod_id, "images", photograph(name), "image/png").status == 201
    owner.need(200, "POST", f"/api/modhub/{mod_id}/publish")
    assert service.caller().ask("GET", f"/api/modhub/{mod_id}/download").body == code
    deadline = time.monotonic() + 60
    while b"/Modhub/picture/" not in service.caller().ask("GET", f"/Modhub/{mod_id}").body:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def photograph(name):
    file = io.BytesIO()
    Image.new("RGB", (1280, 720), f"#{name.encode().hex()[:6]}").save(file, "PNG")
    return file.getvalue()
