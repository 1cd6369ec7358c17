"""The JSON that owners send."""

from typing import Annotated, ClassVar

from msgspec import UNSET, Struct, UnsetType

from modhub.base.operations import about
from modhub_profiles.licenses import clean_license
from modhub_profiles.web_links import clean_link

LinkText = str | UnsetType | None


class LinksChange(Struct):
    """``PUT /api/modhub/{id}/links``: only what is sent is changed; ``null`` clears it."""

    nullable: ClassVar[frozenset[str]] = frozenset({"source", "report", "community", "license"})

    source: Annotated[
        LinkText,
        about("Where its source code is, an https address; null clears it", "https://github.com/ada/split-timer"),
    ] = UNSET
    report: Annotated[
        LinkText,
        about(
            "Where problems with it are reported to its author, an https address; null clears it",
            "https://github.com/ada/split-timer/issues",
        ),
    ] = UNSET
    community: Annotated[LinkText, about("Where its users meet, an https address; null clears it", None)] = UNSET
    license: Annotated[
        LinkText,
        about("An SPDX licence expression; or `other: ` and your own words; null clears it", "MIT"),
    ] = UNSET

    def cleaned(self) -> dict[str, str]:
        """The fields that were sent, as they are stored: empty for ``null``. 400 for the first that breaks a rule."""
        sent = {name: getattr(self, name) for name in self.__struct_fields__}
        clean = {"license": clean_license}
        return {
            name: clean.get(name, clean_link)(value or "", name)
            for name, value in sent.items()
            if not isinstance(value, UnsetType)
        }
