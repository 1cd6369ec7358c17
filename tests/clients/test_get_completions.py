"""The completions of ``modhub-get`` for bash and zsh: committed, current, and printed by the program."""

import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

from modhub_client.get.main import COMPLETIONS, main

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "clients" / "modhub_client" / "get" / "completions"
tool = runpy.run_path(str(ROOT / "tools" / "write_completions.py"))


@pytest.mark.parametrize("shell", COMPLETIONS)
def test_they_are_current(shell, capsys):
    text = (FOLDER / COMPLETIONS[shell]).read_text("utf-8")
    assert text == tool["render_completions"]()[COMPLETIONS[shell]], "run tools/write_completions.py"
    assert main(["completions", shell]) == 0
    assert capsys.readouterr().out == text
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(COMPLETIONS.values())


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["install", "--dr"], ["--dry-run"]),
        (["install", "--lock", "sta"], ["state.lock"]),
    ],
)
def test_bash_completes(tmp_path, words, completed):
    (tmp_path / "state.lock").touch()
    script = f"""
        source '{FOLDER / COMPLETIONS["bash"]}'
        COMP_WORDS=(modhub-get {" ".join(word or '""' for word in words)}) COMP_CWORD={len(words)}
        _shtab_modhub_get
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.stdout.split() == completed, done.stderr
