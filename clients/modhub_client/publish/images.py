"""The images of a mod: what is there already stays, and a replaced one goes only when the new one is there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from modhub_client.publish.client import Answer, Publisher, complain, failure_of, sha256_of
from modhub_client.publish.modfile import TargetImage
from modhub_client.publish.report import StepReport

ListedFile = Mapping[str, Any]
"""A file as ``GET /api/modhub/{id}/files`` lists it."""


@dataclass(slots=True)
class MatchedImage:
    """A wanted image, with its file on the service or with those of its name, which it replaces."""

    target: TargetImage
    stored: ListedFile | None = None
    replaced: list[ListedFile] = field(default_factory=list)
    asset_id: int = 0
    """0 until it is uploaded."""

    @property
    def before(self) -> ListedFile | None:
        """What is shown in its place now."""
        return self.stored or (self.replaced[0] if self.replaced else None)

    @property
    def caption_before(self) -> str:
        """The caption of that."""
        return str(self.before["caption"]) if self.before else ""

    @property
    def caption(self) -> str:
        """The caption to set: a new file keeps that of the one that it replaces."""
        return self.caption_before if self.target.caption is None else self.target.caption


def match_images(target: Sequence[TargetImage], stored: Sequence[ListedFile]) -> list[MatchedImage]:
    """Find the wanted images among the stored ones: by name and bytes, then by bytes, then by name."""
    images = [MatchedImage(image) for image in target]
    digests = [sha256_of(image.file) for image in target]
    free = list(stored)
    for is_named in (True, False):
        for image, digest in zip(images, digests, strict=True):
            same = (
                file
                for file in free
                if file["sha256"] == digest and (file["name"] == image.target.name or not is_named)
            )
            if image.stored is None and (match := next(same, None)) is not None:
                image.stored, image.asset_id = match, match["assetId"]
                free.remove(match)
    for image in images:
        if image.stored is None:
            image.replaced = [file for file in free if file["name"] == image.target.name]
    return images


class ImageSync:
    """The images of the mod at ``path``, to be brought to what is wanted.

    ``are_all``: the wanted images are all of the mod, in their order. Others then follow, or go with ``prune``.
    """

    def __init__(
        self,
        service: Publisher,
        path: str,
        stored: Sequence[ListedFile],
        target: Sequence[TargetImage],
        *,
        are_all: bool,
    ) -> None:
        self._service = service
        self._path = path
        self._stored = stored
        self._are_all = are_all
        self._images = match_images(target, stored)
        matched = [file for image in self._images for file in (image.stored, *image.replaced)]
        self._orphans = [file for file in stored if file not in matched] if are_all else []
        self._obsolete: list[int] = []

    def run(self, report: StepReport, *, prune: bool) -> None:
        """Send what differs, and tell."""
        names = [file["name"] for file in self._orphans]
        if names and not prune:
            complain(f"images that the file does not name, which --prune removes: {', '.join(names)}")
        if prune:
            self._obsolete += [file["assetId"] for file in self._orphans]
        is_order_other = self._is_order_other()
        if not report.is_dry:
            self._send()
        for image in self._images:
            report.note(f"image {image.target.name}", changed=image.stored is None)
        for name in names if prune else ():
            report.note(f"image {name} removed", changed=True)
        if any(image.target.caption is not None for image in self._images):
            report.note("captions", changed=any(image.caption != image.caption_before for image in self._images))
        if self._are_all:
            report.note("order", changed=is_order_other)

    def _is_order_other(self) -> bool:
        before = [file["assetId"] for file in self._stored if file["assetId"] not in self._obsolete]
        listed = [image.before["assetId"] if image.before else 0 for image in self._images]
        orphans = [file["assetId"] for file in self._orphans if file["assetId"] not in self._obsolete]
        others = [file["assetId"] for image in self._images for file in image.replaced[1:]]
        natural = [asset_id for asset_id in before if asset_id not in others] + [0] * listed.count(0)
        return natural != [*listed, *orphans]

    def _send(self) -> None:
        shown = {file["assetId"]: file["caption"] for file in self._stored}
        for image in self._images:
            if image.stored is None:
                self._obsolete += [file["assetId"] for file in image.replaced]
                self._upload(image, shown)
        captions = [
            {"assetId": image.asset_id, "caption": image.caption}
            for image in self._images
            if image.caption != shown[image.asset_id]
        ]
        if captions:
            self._service.send_json("PUT", f"{self._path}/captions", {"captions": captions})
        order = [asset_id for asset_id in dict.fromkeys([*self._order(), *shown]) if asset_id in shown]
        if order != list(shown):
            self._service.send_json("PUT", f"{self._path}/order", {"assetIds": order})
        self._remove_obsolete(shown)

    def _order(self) -> list[int]:
        """As listed if these are all images, else each new one where the old one was."""
        if self._are_all:
            return [image.asset_id for image in self._images]
        new: dict[int, int] = {file["assetId"]: image.asset_id for image in self._images for file in image.replaced}
        return [new.get(asset_id, asset_id) for asset_id in (file["assetId"] for file in self._stored)]

    def _upload(self, image: MatchedImage, shown: dict[int, str]) -> None:
        answer = self._post(image.target)
        is_small = answer.document.get("limitBytes", 0) >= image.target.file.stat().st_size
        if answer.status == 413 and is_small and self._obsolete:
            # Not this file is too large, but all images together: only what is going to be removed makes room.
            self._remove_obsolete(shown)
            answer = self._post(image.target)
        if answer.status != 201:
            raise failure_of(answer)
        ids = [int(asset["url"].rpartition("/")[2]) for asset in answer.document["assets"] if asset["kind"] == "image"]
        image.asset_id = next(asset_id for asset_id in ids if asset_id not in shown)
        shown[image.asset_id] = ""

    def _post(self, image: TargetImage) -> Answer:
        return self._service.upload(f"{self._path}/images", image.file, {"name": image.name})

    def _remove_obsolete(self, shown: dict[int, str]) -> None:
        for asset_id in self._obsolete:
            self._service.remove(f"{self._path}/images/{asset_id}")
            del shown[asset_id]
        self._obsolete.clear()
