"""``modhub-publish mod``: brings a mod on the service to the state of its file, or of the arguments."""

import argparse
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from modhub_client.outcome import WrongUse
from modhub_client.publish.client import Publisher, ServiceClient, complain, find_own, name_mod
from modhub_client.publish.modfile import TargetMod, read_target
from modhub_client.publish.report import StepReport
from modhub_client.publish.steps import ModSync

REPEATABLE_FOR: Final = timedelta(hours=23)
"""How long the same file is sure to name the same new mod: a little less than the service keeps its key (C-OWN-31)."""
_ARCHIVE: Final = {
    "parent_folder": "leads to a parent folder",
    "absolute": "is an absolute path",
    "duplicate": "is there twice",
    "unreadable": "the archive cannot be read",
}
_TEXTS: Final = {
    "image_without_alt": "not every image has alt text",
    "heading_skipped": "a level of headings is skipped",
    "link_text": "the text of a link says nothing, such as “here”",
    "caption_missing": "not every image has a caption",
}


def release_mod(client: ServiceClient, arguments: argparse.Namespace, report: StepReport) -> dict[str, Any]:
    """``mod FILE.toml``, and ``mod MOD FILE --version V``"""
    target = read_target(arguments)
    reference = name_mod(target.reference, client.url) if target.reference else None
    if target.successor and target.successor.strip():
        name_mod(target.successor, client.url)
    service = Publisher(client.url, client.key)
    mods = service.read_own_mods()
    mod = find_own(mods, reference) if reference else _create(service, mods, target, report)
    facts: dict[str, Any] = {"ready": False, "problems": [], "hints": []}
    if mod is None:
        _note_all(target, report, is_publishing=arguments.publish)
    else:
        facts, mod = _bring(ModSync(service, mod, target, report), report, arguments)
    return _describe(service, mod, target, report) | facts


def _bring(sync: ModSync, report: StepReport, arguments: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Any]]:
    """Take the steps; returns what the rehearsal says, and the mod."""
    sync.run(prune=arguments.prune)
    rehearsal = sync.rehearse()
    has_code = any(asset["kind"] == "code" for asset in sync.mod["assets"])
    problems, hints = problems_of(rehearsal, has_code=has_code), hints_of(rehearsal)
    now = "as it is now: " if report.is_dry else ""
    for kind, sentences in (("problem", problems), ("hint", hints)):
        for sentence in sentences:
            complain(f"{now}{kind}: {sentence}")
    if arguments.publish:
        sync.publish([] if arguments.allow_problems else problems)
    return {"ready": rehearsal["ready"], "problems": problems, "hints": hints}, sync.mod


def _create(
    service: Publisher, mods: Sequence[dict[str, Any]], target: TargetMod, report: StepReport
) -> dict[str, Any] | None:
    """Create the mod and tell its GUID; None in a dry run. The same file creates it once."""
    title = target.fields["title"].strip()
    for mod in mods:
        age = datetime.now(UTC) - datetime.fromisoformat(mod["createdAt"])
        if mod["title"] == title and age > REPEATABLE_FOR:
            sentence = f'You have a mod of this title. Write guid = "{mod["guid"]}" into the file, or change the title.'
            raise WrongUse(sentence)
    if report.is_dry:
        report.note("created", changed=True)
        return None
    created = service.create_mod(title, f"modhub-publish {target.digest}")
    report.note("created", changed=all(mod["id"] != created["id"] for mod in mods))
    line = f'guid = "{created["guid"]}"'
    report.say(f"Write this line to the top of the file: {line}")
    if report.as_json:
        complain(f"write this line to the top of the file: {line}")
    return created


def _note_all(target: TargetMod, report: StepReport, *, is_publishing: bool) -> None:
    """What a run would do for a mod that does not exist yet."""
    images = target.images or ()
    steps = {
        f"code {target.version}": target.code,
        f"css {target.css.name if target.css else ''}": target.css,
        **{f"image {image.name}": image for image in images},
        "captions": any(image.caption for image in images),
        **dict.fromkeys(target.fields, True),
        "description": target.description,
        "supersededBy": target.successor,
        "changelog": target.notes,
        "published": is_publishing,
    }
    for what, is_asked in steps.items():
        if is_asked:
            report.note(what, changed=True)


def _describe(service: Publisher, mod: dict[str, Any] | None, target: TargetMod, report: StepReport) -> dict[str, Any]:
    return {
        "mod": mod["id"] if mod else None,
        "guid": mod["guid"] if mod else None,
        "version": target.version or (mod["version"] if mod else ""),
        "dryRun": report.is_dry,
        "url": f"{service.url}/Modhub/{mod['id']}" if mod else service.url,
    }


def problems_of(rehearsal: Mapping[str, Any], *, has_code: bool) -> list[str]:
    """Why the mod should not be published as it is."""
    return [
        *([] if has_code else ["there is no code file"]),
        *(f"required, but nobody could install it: {guid}" for guid in rehearsal["missing"]),
        *(f"required, but still a draft: {guid}" for guid in rehearsal["unpublished"]),
        *(f"{pair['guid']} excludes {pair['conflictsWith']}, and needs it" for pair in rehearsal["conflicts"]),
        *(
            f"code: {' '.join(filter(None, (entry['name'], _say(_ARCHIVE, entry['problem']))))}"
            for entry in rehearsal["archive"]
        ),
    ]


def hints_of(rehearsal: Mapping[str, Any]) -> list[str]:
    """What could be better."""
    successor = rehearsal["supersededBy"]
    return [
        *(f"{field}: as long as it may be; its end may be cut off" for field in rehearsal["trimmed"]),
        *(f"games: not in the list of games: {game}" for game in rehearsal["games"]),
        *(f"{entry['field']}: {_say(_TEXTS, entry['problem'])}" for entry in rehearsal["texts"]),
        *(
            ["supersededBy: not published, so that readers are not told"]
            if successor and not successor["published"]
            else []
        ),
    ]


def _say(sentences: Mapping[str, str], problem: str) -> str:
    return sentences.get(problem, problem.replace("_", " "))
