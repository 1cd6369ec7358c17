"""Anonymous reads of links and profiles, one driver statement each. The caller checks whether they may be seen."""

from typing import Final, NamedTuple

from sqlalchemy import bindparam, select

from modhub.blobs.models import StoredBlob
from modhub.db import from_micros
from modhub.db.raw_queries import PreparedQuery, RawQueryExecutor
from modhub.web.downloads import A_DAY, REVALIDATE, StoredFile
from modhub_profiles.models import AuthorProfile, ModLinks

PICTURE_TYPE = "image/jpeg"


class ShownLinks(NamedTuple):
    """The links and the licence of a mod, empty where there are none."""

    source: str = ""
    report: str = ""
    community: str = ""
    license: str = ""


class Picture(NamedTuple):
    """The file of an author's picture."""

    key: str
    size: int
    sha256: str
    pictured_at: int

    @property
    def name(self) -> str:
        """The last segment of its address: another picture has another one."""
        return f"{self.sha256[:16]}.jpg"

    def stored_file(self, *, private: bool) -> StoredFile:
        """The file to answer with. A day, as of mods: what is hidden disappears."""
        control = REVALIDATE if private else A_DAY
        modified = from_micros(self.pictured_at)
        return StoredFile(
            self.key, self.size, self.sha256, self.name, PICTURE_TYPE, modified, True, control, private=private
        )


class ShownProfile(NamedTuple):
    """What an account says about itself."""

    sentence: str = ""
    links: tuple[str, ...] = ()
    picture: Picture | None = None


_LINKS: Final = PreparedQuery(
    select(ModLinks.source, ModLinks.report, ModLinks.community, ModLinks.license).where(
        ModLinks.mod_id == bindparam("id")
    )
)
_PICTURE: Final = (StoredBlob.key, StoredBlob.size, StoredBlob.sha256, AuthorProfile.pictured_at)
_PROFILE: Final = PreparedQuery(
    select(AuthorProfile.sentence, AuthorProfile.links, *_PICTURE)
    .outerjoin(StoredBlob, StoredBlob.id == AuthorProfile.picture_id)
    .where(AuthorProfile.account_id == bindparam("id"))
)


class ProfileReader:
    """Reads links and profiles; see :class:`modhub.plugins.services.IAuthorPictures`, too."""

    def __init__(self, reader: RawQueryExecutor) -> None:
        self._reader = reader

    def links_of(self, mod_id: int) -> ShownLinks:
        """The links of a mod."""
        rows = self._reader.rows(_LINKS, id=mod_id)
        return ShownLinks(*rows[0]) if rows else ShownLinks()

    def profile_of(self, account_id: int) -> ShownProfile:
        """What an account says about itself."""
        rows = self._reader.rows(_PROFILE, id=account_id)
        if not rows:
            return ShownProfile()
        sentence, links, *file = rows[0]
        return ShownProfile(sentence, tuple(links.split()), Picture(*file) if file[0] is not None else None)

    def find_picture(self, account_id: int) -> str | None:
        """The public path of the author's picture, read in one statement; None without one."""
        picture = self.profile_of(account_id).picture
        return f"/Modhub/by/{account_id}/picture/{picture.name}" if picture is not None else None
