"""The JSON that owners send."""

from typing import ClassVar

from msgspec import UNSET, Struct, UnsetType

from modhub_profiles.licenses import clean_license
from modhub_profiles.web_links import clean_link

LinkText = str | UnsetType | None


class LinksChange(Struct):
    """``PUT /api/modhub/{id}/links``: only what is sent is changed; ``null`` clears it."""

    nullable: ClassVar[frozenset[str]] = frozenset({"source", "report", "community", "license"})

    source: LinkText = UNSET
    report: LinkText = UNSET
    community: LinkText = UNSET
    license: LinkText = UNSET

    def cleaned(self) -> dict[str, str]:
        """The fields that were sent, as they are stored: empty for ``null``. 400 for the first that breaks a rule."""
        sent = {name: getattr(self, name) for name in self.__struct_fields__}
        clean = {"license": clean_license}
        return {
            name: clean.get(name, clean_link)(value or "", name)
            for name, value in sent.items()
            if not isinstance(value, UnsetType)
        }
