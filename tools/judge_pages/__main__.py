"""``make judge-pages``: what Lighthouse, the Nu HTML checker, axe and Pa11y say of the pages, and what the pages weigh.

Prints tables and writes them as JSON. Exits with 1 if a goal of the pages is missed. The speed scores depend on the
machine: judge on a quiet one.
"""

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from judges import CATEGORIES, Judges, Reader, find_violations, first_card_top, open_phone, weigh
from showcase import Showcase, serve_showcase

from modhub_testing.service import PASSWORD

FIRST_BYTES = {"front": 250_000, "game": 200_000, "mod": 200_000}
"""Before anything is scrolled."""
SCROLLED_BYTES = {"browse": 1_000_000}
LCP = 1.5
"""Seconds, on the slow network of Lighthouse."""
FIRST_CARD_TOP = 320
PERFORMANCE = 98
# Sign-in pages ask search engines to stay away, which costs them their SEO score: they are not judged by Lighthouse.
JUDGED = {
    "front": "/Modhub",
    "browse": "/Modhub?sort=top",
    "game": "/Modhub?game=Night+Harbor",
    "mod": "/Modhub/{mod}",
    "app": "/Modhub/App",
    "wiki": "/Modhub/Wiki",
    "doc": "/Modhub/doc",
}
READ = {
    **JUDGED,
    "none": "/Modhub?q=nothing+like+this",
    "missing": "/Modhub/999999",
    "sign-in": "/Modhub/account/login",
    "register": "/Modhub/account/register",
    "forgot": "/Modhub/account/forgot",
}
OWNED = {
    "signed-in front": "/Modhub",
    "signed-in browse": "/Modhub?sort=top",
    "signed-in mod": "/Modhub/1",
    "following": "/Modhub/following",
    "mine": "/Modhub/mine",
    "new": "/Modhub/mine/new",
    "draft": "/Modhub/mine/{draft}",
    "published": "/Modhub/mine/{mod}",
    "preview": "/Modhub/mine/{draft}/preview",
    "account": "/Modhub/account",
    "publisher-key": "/Modhub/account/publisher-key",
    "history": "/Modhub/account/history",
}
FOLLOWED = "/Modhub/1"
"""A mod of the samples, which the owner of the others follows."""


def main() -> int:
    """Judge, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--modules", type=Path, required=True, help="the folder node_modules with the judges")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument(
        "--rounds", type=int, default=3, help="Lighthouse runs for each page, of which the median counts"
    )
    arguments = parser.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("chromium is not installed: `make test-browser` installs it when you are root")
    judges = Judges(arguments.modules, chromium)
    with tempfile.TemporaryDirectory() as name, serve_showcase(Path(name) / "service") as showcase:
        figures = _weigh_pages(showcase, chromium)
        figures["picture_seconds"] = round(showcase.picture_seconds, 1)
        figures["lighthouse"] = _score_pages(showcase, judges, arguments.rounds)
        figures["html"] = judges.validate(_save_pages(showcase, Path(name) / "pages"))
        figures |= _find_barriers(showcase, judges, chromium, Path(name))
    missed = _missed_goals(figures)
    _print_tables(figures, missed)
    if arguments.json:
        arguments.json.write_text(json.dumps({**figures, "missed": missed}, indent=2), "utf-8")
    return 1 if missed else 0


def _sign_in(showcase: Showcase, language: str) -> Reader:
    """The owner, who has put away the notice to confirm the address, and follows a mod."""
    owner = Reader(showcase.origin, language)
    owner.send("/Modhub/account/login", "/Modhub/account/login", {"email": showcase.owner, "password": PASSWORD})
    owner.send(FOLLOWED, f"{FOLLOWED}/follow", {"follow": "1"})
    owner.send("/Modhub", "/Modhub/account/hide-notice", {})
    return owner


def _find_barriers(showcase: Showcase, judges: Judges, chromium: str, folder: Path) -> dict[str, Any]:
    """What Pa11y and axe find on the pages for visitors and on those of an owner, and where the first cards are."""
    figures: dict[str, Any] = {"pa11y": {}, "axe": {}, "first_card": {}}
    for who, pages, cookies in (("visitor", READ, {}), ("owner", OWNED, _sign_in(showcase, "en").cookies)):
        with open_phone(chromium, showcase.origin, cookies) as phone:
            for name, path in pages.items():
                url = _address(showcase, path)
                figures["pa11y"][name] = judges.pa11y(url, folder, cookies)
                figures["axe"][name] = find_violations(phone, url)
            figures["first_card"][who] = first_card_top(phone, _address(showcase, JUDGED["browse"]))
    return figures


def _address(showcase: Showcase, path: str) -> str:
    return showcase.origin + path.format(mod=showcase.mod, draft=showcase.draft)


def _weigh_pages(showcase: Showcase, chromium: str) -> dict[str, Any]:
    with open_phone(chromium, showcase.origin) as page:
        return {"weights": {name: weigh(page, _address(showcase, path)) for name, path in JUDGED.items()}}


def _score_pages(showcase: Showcase, judges: Judges, rounds: int) -> dict[str, dict[str, float]]:
    return {name: judges.lighthouse(_address(showcase, path), rounds) for name, path in JUDGED.items()}


def _save_pages(showcase: Showcase, folder: Path) -> Path:
    """Save each page in both languages, and an owner's pages, for the HTML checker."""
    folder.mkdir()
    for language in ("en", "de"):
        visitor, owner = Reader(showcase.origin, language), _sign_in(showcase, language)
        for reader, pages in ((visitor, READ), (owner, OWNED)):
            for name, path in pages.items():
                text = reader.fetch(path.format(mod=showcase.mod, draft=showcase.draft))
                (folder / f"{name.replace(' ', '-')}-{language}.html").write_text(text, "utf-8")
    return folder


def _missed_goals(figures: dict[str, Any]) -> list[str]:
    missed = [f"HTML: {error}" for error in figures["html"]]
    for judge in ("pa11y", "axe"):
        missed += [f"{judge}: {page}: {error}" for page, errors in figures[judge].items() for error in errors]
    for page, scores in figures["lighthouse"].items():
        for name in CATEGORIES:
            goal = PERFORMANCE if name == "performance" else 100
            if scores[name] < goal:
                missed.append(f"{page}: {name} {scores[name]:.0f}, not {goal}")
        if scores["lcp"] > LCP:
            missed.append(f"{page}: LCP {scores['lcp']:.2f} s, not {LCP} s")
    missed += [
        f"{page} weighs {figures['weights'][page][when]:,} bytes ({when}), not {most:,}"
        for when, goals in (("first", FIRST_BYTES), ("scrolled", SCROLLED_BYTES))
        for page, most in goals.items()
        if figures["weights"][page][when] > most
    ]
    missed += [f"{page}: CLS {scores['cls']:.3f}" for page, scores in figures["lighthouse"].items() if scores["cls"]]
    for who, top in figures["first_card"].items():
        if top > FIRST_CARD_TOP:
            missed.append(f"{who}: the first card starts {top:.0f} pixels from the top of a phone's screen")
    return missed


def _print_tables(figures: dict[str, Any], missed: list[str]) -> None:
    print(
        "| page | performance | accessibility | best practices | SEO | LCP | CLS | bytes | bytes, scrolled | requests |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for page, scores in figures["lighthouse"].items():
        weight = figures["weights"][page]
        points = " | ".join(f"{scores[name]:.0f}" for name in CATEGORIES)
        print(
            f"| {page} | {points} | {scores['lcp']:.1f} s | {scores['cls']:.3f} | "
            f"{weight['first']:,} | {weight['scrolled']:,} | {weight['requests']} |"
        )
    print(f"\nThe pictures of all mods were ready {figures['picture_seconds']} s after the last upload.")
    tops = " and ".join(f"{top:.0f} ({who})" for who, top in figures["first_card"].items())
    print(f"The first card starts {tops} pixels from the top at 360 pixels.\n")
    print("\n".join(missed) if missed else "All goals are met.")


if __name__ == "__main__":
    sys.exit(main())
