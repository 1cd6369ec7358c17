"""Published text is shown as text: script vectors in changelog, build names and wiki do not run."""

import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

KEY = "a-key-of-the-browser-tests"
VECTORS = (
    '<script>document.title="ran"</script>',
    "<img src=x onerror=\"document.title='ran'\">",
    "<svg onload=\"document.title='ran'\">",
    "[link](javascript:document.title='ran')",
    "<a href=\"javascript:document.title='ran'\">x</a>",
    '![](x" onerror="document.title=\'ran\'")',
    "<iframe srcdoc=\"<script>parent.document.title='ran'</script>\"></iframe>",
    "<math><mtext><style><img src=x onerror=\"document.title='ran'\">",
    '```html\n</code><script>document.title="ran"</script>\n```',
)


def send(method: str, address: str, body: bytes) -> None:
    request = urllib.request.Request(address, body, {"X-Api-Key": KEY, "Content-Type": "text/plain"}, method=method)
    with urllib.request.urlopen(request, timeout=100) as answer:
        assert answer.status == 201


@pytest.fixture
def published(serve_with: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("APIPRIVATEKEYS", f"{KEY} Modhub:app Modhub:wiki")
    with serve_with(tmp_path, "modhub_builds modhub_wiki") as service:
        name = urllib.parse.quote(VECTORS[1])
        version = urllib.parse.quote(VECTORS[0])
        send("POST", f"{service.address}/api/modhub/app/windows?name={name}&version={version}", b"a build")
        send("POST", f"{service.address}/api/modhub/app/changelog", "\n".join(VECTORS).encode())
        send("PUT", f"{service.address}/Modhub/api/wiki/hostile", "\n\n".join(("# Hostile", *VECTORS)).encode())
        yield service


def test_nothing_that_machines_publish_runs(browser: Browser, published: Any) -> None:
    context = browser.new_context(base_url=published.address)
    page = context.new_page()
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    for path in ("/Modhub/App", "/Modhub/Wiki/hostile", "/Modhub/Wiki", "/Modhub/Wiki?q=script"):
        page.goto(path)
        page.wait_for_load_state("networkidle")
        assert "ran" not in page.title(), path
        assert (
            page.locator("main script, main iframe, main [onerror], main [onload], main [href^='javascript']").count()
            == 0
        )
    page.goto("/Modhub/App")
    assert "document.title" in (page.locator("main").text_content() or ""), "it is shown as text"
    assert dialogs == []
    context.close()
