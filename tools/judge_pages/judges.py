"""The judges: Lighthouse, the Nu HTML checker, Pa11y, axe, and the browser's own count of bytes."""

import html
import json
import os
import re
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, ViewportSize, sync_playwright

CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
BROWSER_OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
)
# Rules older than today's HTML: an email address in `autocomplete="username"`; a button outside of its form, which it
# names by `form`.
PA11Y_IGNORED = ("WCAG2AA.Principle1.Guideline1_3.1_3_5.H98", "WCAG2AA.Principle3.Guideline3_2.3_2_2.H32.2")
# A trace is sometimes lost (NO_NAVSTART), and Lighthouse itself says "Please run Lighthouse again".
LIGHTHOUSE_TRIES = 4
PHONE = ViewportSize(width=360, height=740)


class Judges:
    """Runs the judges, which ``make judge-pages`` has installed in ``modules``, with the browser ``chromium``."""

    def __init__(self, modules: Path, chromium: str) -> None:
        self._modules = modules
        self._chromium = chromium

    def lighthouse(self, url: str, rounds: int) -> dict[str, float]:
        """Return medians of rounds on a throttled phone: scores from 0 to 100, `lcp` in seconds, `cls`, `bytes`."""
        runs = [self._lighthouse_once(url) for _ in range(rounds)]
        return {name: median(run[name] for run in runs) for name in runs[0]}

    def _lighthouse_once(self, url: str) -> dict[str, float]:
        flags = " ".join(BROWSER_OPTIONS)
        words = ["lighthouse", url, "--quiet", "--output=json", f"--chrome-flags={flags}"]
        report = json.loads(self._run(words, {"CHROME_PATH": self._chromium}, tries=LIGHTHOUSE_TRIES))
        scores = {name: 100 * (report["categories"][name]["score"] or 0) for name in CATEGORIES}
        audits = report["audits"]
        return {
            **scores,
            "lcp": audits["largest-contentful-paint"]["numericValue"] / 1000,
            "cls": audits["cumulative-layout-shift"]["numericValue"],
            "bytes": audits["total-byte-weight"]["numericValue"],
        }

    def validate(self, folder: Path) -> list[str]:
        """Return the errors that the Nu HTML checker finds in the files of a folder."""
        jar = self._modules / "vnu-jar" / "build" / "dist" / "vnu.jar"
        command = ["java", "-jar", str(jar), "--format", "json", "--exit-zero-always", "--also-check-css", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)  # noqa: S603
        messages = json.loads(done.stderr or '{"messages": []}')["messages"]
        return [f"{Path(line['url']).name}: {line['message']}" for line in messages if line["type"] == "error"]

    def pa11y(self, url: str, folder: Path, cookies: dict[str, str]) -> list[str]:
        """Return the errors that Pa11y finds on a page, as who has these cookies."""
        settings = folder / "pa11y.json"
        options = {
            "chromeLaunchConfig": {"executablePath": self._chromium, "args": BROWSER_OPTIONS},
            "ignore": PA11Y_IGNORED,
            "timeout": 120_000,
            "headers": {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())} if cookies else {},
        }
        settings.write_text(json.dumps(options), "utf-8")
        words = ["pa11y", "--config", str(settings), "--reporter", "json", url]
        return [f"{issue['code']}: {issue['message']}" for issue in json.loads(self._run(words, {}, codes=(0, 2)))]

    def _run(self, words: Sequence[str], environ: dict[str, str], codes: Sequence[int] = (0,), tries: int = 1) -> str:
        program = str(self._modules / ".bin" / words[0])
        for _ in range(tries):
            done = subprocess.run(  # noqa: S603
                [program, *words[1:]],
                capture_output=True,
                text=True,
                timeout=400,
                env={**os.environ, **environ},
                check=False,
            )
            if done.returncode in codes:
                return done.stdout
        message = f"{words[0]} failed: {done.stderr[-2000:]}"
        raise RuntimeError(message)


@contextmanager
def open_phone(chromium: str, origin: str, cookies: Mapping[str, str] = MappingProxyType({})) -> Iterator[Page]:
    """Open a page of a phone's size with twice as many pixels, with these cookies of the origin."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(BROWSER_OPTIONS[1:]))
        context = browser.new_context(viewport=PHONE, device_scale_factor=2)
        context.add_cookies([{"name": name, "value": value, "url": origin} for name, value in cookies.items()])
        yield context.new_page()
        browser.close()


def find_violations(page: Page, url: str) -> list[str]:
    """Return what axe finds, by all its rules of WCAG A and AA and its best practices."""
    page.goto(url)
    violations = Axe().run(page).response["violations"]
    return [f"{violation['id']}: {violation['help']}" for violation in violations]


def weigh(page: Page, url: str) -> dict[str, int]:
    """Return the bytes over the wire of a page before anything is scrolled; bytes and requests when all of it was."""
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.clearBrowserCache")
    sizes: list[int] = []
    session.on("Network.loadingFinished", lambda event: sizes.append(int(event["encodedDataLength"])))
    page.goto(url, wait_until="networkidle")
    first = sum(sizes)
    for _ in range(60):
        page.mouse.wheel(0, 400)
        page.wait_for_timeout(60)
    page.wait_for_load_state("networkidle")
    session.detach()
    return {"first": first, "scrolled": sum(sizes), "requests": len(sizes)}


def first_card_top(page: Page, url: str) -> float:
    """Return the distance in pixels from the top of a phone's screen to the first mod's card."""
    page.goto(url)
    box: Any = page.locator(".card").first.bounding_box()
    return float(box["y"])


class Reader:
    """Fetches pages as a browser of one language, signed in or not."""

    def __init__(self, origin: str, language: str) -> None:
        self._origin = origin
        self._jar = CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self._jar))
        self._opener.addheaders = [("Accept-Language", language), ("Accept", "text/html")]

    @property
    def cookies(self) -> dict[str, str]:
        """What the service has set, by name."""
        return {cookie.name: cookie.value or "" for cookie in self._jar}

    def send(self, page: str, path: str, fields: Mapping[str, str]) -> None:
        """Send a form of ``page``, with its token."""
        token = re.search(r'name="csrf_token" value="([^"]+)"', self.fetch(page))
        assert token, f"{page} has no form"
        self.fetch(path, urlencode({**fields, "csrf_token": html.unescape(token[1])}).encode())

    def fetch(self, path: str, form: bytes | None = None) -> str:
        """Return the page, an error page too."""
        try:
            with self._opener.open(self._origin + path, form, timeout=60) as answer:
                return str(answer.read().decode("utf-8"))
        except urllib.error.HTTPError as error:
            return error.read().decode("utf-8")
