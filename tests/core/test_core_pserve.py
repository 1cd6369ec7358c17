"""``pserve`` with an ini that cannot be used: one sentence, no stack trace and no line of the file."""

from types import SimpleNamespace

import pytest

from modhub.admin import pserve as modhub_pserve
from modhub.admin.pserve import pserve_main
from modhub_testing import TEST_SECRET

pytestmark = pytest.mark.slow

APP = f"[app:main]\nuse = egg:modhub\nsqlalchemy.url = sqlite:////x/y.sqlite\nmodhub.secret = {TEST_SECRET}\n"
SERVER = "[server:main]\nuse = egg:modhub#server\nlisten = 127.0.0.1:%(port)s\n"
LOGGING = "[loggers]\nkeys = root\n[handlers]\nkeys =\n[formatters]\nkeys =\n[logger_root]\nlevel = LOUD\nhandlers =\n"


@pytest.fixture
def served(monkeypatch):
    """The command lines passed on to Pyramid's ``pserve``."""
    calls = []
    monkeypatch.setattr(modhub_pserve, "ServeCommand", lambda argv: SimpleNamespace(run=lambda: calls.append(argv)))
    return calls


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (f"{APP}modhub.secret = hunter2\n{SERVER}", "line 5: [app:main] has modhub.secret twice"),
        (f"{APP}hunter2\n{SERVER}", "line 5: neither a section nor a key with a value"),
        (f"hunter2 = 1\n{APP}{SERVER}", "line 1: a section such as [app:main] must come first"),
        (f"{APP}mail.password = hunter2%2\n{SERVER}", "[app:main] mail.password holds a %"),
        (APP, "there is no section [server:main]"),
        (APP + "[server:main]\nlisten = x\n", "[server:main] has no line such as use = egg:modhub#server"),
        ("[app:main]\nuse = egg:modhubb\n" + SERVER, "it uses the egg modhubb, which is not installed"),
        (APP + SERVER + LOGGING, "its logging sections cannot be used (ValueError: Unknown level: 'LOUD')"),
        ("[app:main]\npaste.app_factory = nope:make\n" + SERVER, "No module named 'nope'"),
        ("[app:main]\nx = \xe4\n".encode("latin-1"), "the configuration file is not UTF-8"),
        (None, "there is no such configuration file"),
    ],
)
def test_an_ini_that_cannot_be_used(tmp_path, capsys, served, content, sentence):
    # C-SET-2
    ini = tmp_path / "x.ini"
    if content is not None:
        ini.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert pserve_main(["pserve", str(ini), "port=1"]) == 1
    output = capsys.readouterr().err
    assert output.startswith(f"modhub does not start: {ini}: {sentence}")
    assert (output.count("\n"), "hunter2" in output) == (1, False)
    assert served == []


def test_all_else_is_left_to_pyramid(tmp_path, served):
    ini, other = tmp_path / "x.ini", tmp_path / "other.ini"
    ini.write_text(APP + SERVER, "utf-8")
    other.write_text(APP.replace("main", "other") + SERVER, "utf-8")
    lines = [["pserve", str(ini), "port=0"], ["pserve"], ["pserve", "-n", "other", str(other), "port=0"]]
    assert [pserve_main(line) for line in lines] == [0, 0, 0]
    assert served == lines
