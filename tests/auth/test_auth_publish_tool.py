"""``modhub-publish mod`` against the real server."""

import json
from typing import Any

import pytest

from modhub_auth import publisher_keys
from modhub_auth.services import lock_account
from modhub_client.publish import client, command
from modhub_testing.running_server import running

pytestmark = pytest.mark.process


def test_a_second_run_changes_nothing(app: Any, person: Any, tmp_path: Any, monkeypatch: Any, capsys: Any) -> None:
    # C-TOK-5, C-TOK-6
    made = app.post_json("/api/auth/register", person).json
    owner = {"Authorization": f"Bearer {made['accessToken']}"}
    mod, other = (app.post_json("/api/modhub", {"title": title}, headers=owner).json["id"] for title in ("One", "Two"))
    with app.databases.write_session.begin() as session:
        assert lock_account(session, made["accountId"]) is not None
        key = publisher_keys.create_key(session, made["accountId"], "CI", mod, 365).key
    monkeypatch.setenv("MODHUB_API_KEY", key)
    code, image = tmp_path / "mod.zip", tmp_path / "shot.png"
    code.write_bytes(b"the code")
    image.write_bytes(b"\x89PNG\r\n\x1a\nshot")

    with running(app.app) as service:
        url = "http://{}:{}".format(*service.addresses[0])

        def run(number: int, *words: Any) -> int:
            arguments = ["--url", url, "mod", str(number), str(code), "--json", "--version", *map(str, words)]
            return command.main(arguments)

        def state() -> Any:
            return app.get(f"/api/modhub/{mod}").json, app.get(f"/api/modhub/{mod}/changelog").body

        assert command.main(["--url", url, "key"]) == 0
        assert capsys.readouterr().out == f"The key is valid: it publishes mods of {made['displayName']}.\n"
        assert command.main(["--url", url, "--json", "key"]) == 0
        assert run(mod, "1.0", "--image", image) == 0
        capsys.readouterr()
        release = ("1.0", "--image", image, "--publish", "--changelog", "New & <b>fast</b>")
        assert run(mod, *release) == 0
        first, before = json.loads(capsys.readouterr().out), state()
        assert (first["changed"], first["unchanged"]) == (["changelog", "published"], ["code 1.0", "image shot.png"])
        assert run(mod, *release) == 0
        second = json.loads(capsys.readouterr().out)
        assert (second["changed"], len(second["unchanged"])) == ([], 4)
        assert state() == before
        image.write_bytes(b"\x89PNG\r\n\x1a\nSHOT")
        assert run(mod, *release) == 0
        assert json.loads(capsys.readouterr().out)["changed"] == ["image shot.png"]
        assert [asset["kind"] for asset in state()[0]["assets"]] == ["code", "image"]
        code.write_bytes(b"another")
        assert run(mod, "1.0") == client.REJECTED
        assert run(other, "1.0") == client.KEY_REJECTED
        monkeypatch.setenv("MODHUB_API_KEY", key[:-1] + "x")
        assert run(mod, "1.1") == client.KEY_REJECTED
        assert command.main(["--url", url, "key"]) == client.KEY_REJECTED
    shown = capsys.readouterr()
    assert key[20:] not in shown.out + shown.err
