"""``modhub-publish mod``: brings a mod on the service to the state of its file, or of the arguments."""

import argparse
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from unicodedata import normalize

from modhub_client.output import ClientError, WrongUse
from modhub_client.publish.client import (
    REJECTED,
    Publisher,
    ServiceClient,
    complain,
    failure_of,
    find_own,
    name_mod,
    sha256_of,
)
from modhub_client.publish.images import ImageSync
from modhub_client.publish.modfile import TargetMod, TextSource, read_target
from modhub_client.publish.report import StepReport


class ModSync:
    """The steps for one mod that exists."""

    def __init__(self, service: Publisher, mod: dict[str, Any], target: TargetMod, report: StepReport) -> None:
        self._service = service
        self._target = target
        self._report = report
        self.mod = mod
        self._path = f"/api/modhub/{mod['id']}"
        self._files = service.read_files(self._path)
        self._notes = self._read_notes()
        self._version = normalize("NFC", (target.version or mod["version"]).strip())

    def _read_notes(self) -> list[dict[str, Any]]:
        notes: list[dict[str, Any]] = self._service.call("GET", f"{self._path}/notes").document["notes"]
        return notes

    def run(self, *, prune: bool) -> None:
        """All steps but publishing; the files first, so that a failure leaves the rest as it is."""
        target = self._target
        is_older = self.mod["version"] != self._version and any(note["title"] == self._version for note in self._notes)
        if target.code is not None:
            self._send_code(target.code, is_older=is_older)
        if is_older:
            complain(f"{self._version} is not the mod's newest version: all but its notes stays as it is.")
        else:
            if target.css is not None:
                self._send_css(target.css)
            if target.images is not None:
                images = [file for file in self._files if file["kind"] == "image"]
                sync = ImageSync(self._service, self._path, images, target.images, are_all=target.has_all_images)
                sync.run(self._report, prune=prune)
            self._send_details()
            if target.successor is not None:
                self._send_successor(target.successor)
        if target.notes is not None:
            self._send_notes(target.notes)

    def _is_there(self, kind: str, file: Path) -> bool:
        return any(stored["kind"] == kind and stored["sha256"] == sha256_of(file) for stored in self._files)

    def _send_code(self, file: Path, *, is_older: bool) -> None:
        """Upload the code. A version that is used already is no error if it had the same bytes."""
        what = f"code {self._version}"
        is_there = self.mod["version"] == self._version and self._is_there("code", file)
        if is_there or self._report.is_dry:
            self._report.note(what, changed=not is_there and not is_older)
            return
        answer = self._service.upload(f"{self._path}/code", file, {"name": file.name, "version": self._version})
        is_same = answer.document.get("error") == "version_used" and answer.document.get("sha256") == sha256_of(file)
        if answer.status != 201 and not is_same:
            raise failure_of(answer)
        self._report.note(what, changed=not is_same)
        if not is_same:
            self.mod, self._notes = dict(answer.document), self._read_notes()

    def _send_css(self, file: Path) -> None:
        def upload() -> None:
            answer = self._service.upload(f"{self._path}/css", file, {"name": file.name})
            if answer.status != 201:
                raise failure_of(answer)

        self._report.take(f"css {file.name}", is_due=not self._is_there("css", file), send=upload)

    def _send_details(self) -> None:
        fields, before = dict(self._target.fields), self.mod
        if self._target.description is not None:
            fields["description"] = self._preview("description", self._target.description)
        differing = {name: value for name, value in fields.items() if value != before[name]}
        if differing and not self._report.is_dry:
            # The service cleans what it stores: only its answer tells what has changed.
            self.mod = dict(self._service.send_json("PUT", self._path, differing).document)
            differing = {name: value for name, value in differing.items() if self.mod[name] != before[name]}
        for name in fields:
            self._report.note(name, changed=name in differing)

    def _preview(self, field: str, written: TextSource) -> str:
        """The text as HTML; what is lost is told."""
        sent = {"text": written.text, "format": written.format, "field": field}
        shown = self._service.send_json("POST", f"{self._path}/preview", sent).document
        if shown["trimmed"]:
            complain(f"{field}: too long; its end is cut off.")
        lost = [*(f"<{tag}>" for tag in shown["removed"]["tags"]), *shown["removed"]["attributes"]]
        if lost:
            complain(f"{field}: not allowed there, and removed: {', '.join(lost)}")
        return str(shown["html"])

    def _send_successor(self, reference: str) -> None:
        before = self.rehearse()["supersededBy"]
        guid = self._service.find_guid(reference) if reference.strip() else ""
        differs = guid.lower() != (before["guid"].lower() if before else "")
        self._report.take("supersededBy", is_due=differs, send=lambda: self._put("superseded", {"by": guid or None}))

    def _put(self, child: str, document: Mapping[str, Any]) -> None:
        self._service.send_json("PUT", f"{self._path}/{child}", document)

    def _send_notes(self, notes: TextSource) -> None:
        note = next((entry for entry in self._notes if entry["title"] == self._version), None)
        is_coming = self._report.is_dry and self._target.code is not None
        if note is None and not is_coming:
            raise ClientError(REJECTED, "The changelog has no entry for this version.")
        text = self._preview("changelog", notes)
        number = note["id"] if note else 0
        is_other = note is None or note["text"] != text
        self._report.take("changelog", is_due=is_other, send=lambda: self._put(f"changelog/{number}", {"text": text}))

    def rehearse(self) -> Mapping[str, Any]:
        """What visitors would get if the mod were published as it is stored now."""
        return self._service.call("POST", f"{self._path}/rehearsal").document

    def publish(self, problems: list[str]) -> None:
        """Publish the mod if it is a draft; not with ``problems``."""
        is_draft = not self.mod["published"]
        if is_draft and problems and not self._report.is_dry:
            sentence = "Not published, because of the problems above. --allow-problems publishes all the same."
            raise ClientError(REJECTED, sentence)
        self._report.take(
            "published", is_due=is_draft, send=lambda: self._service.call("POST", f"{self._path}/publish")
        )


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
