"""The resources of the tree, and what identifies a caller."""

from typing import Any

from zope.interface import Attribute, Interface


class IResource(Interface):
    """A node of the tree. ``exists`` says whether there is anything behind it (see :mod:`modhub.web.traversal`)."""

    exists = Attribute("False if nothing is at the address; the owner's views then return 404, after the ACL.")


class IRoot(IResource):
    """``/``"""


class IWellKnown(IResource):
    """``/.well-known`` (RFC 8615)."""


class IApi(IResource):
    """The API: ``/api``. JSON answers, no cookies."""


class ISite(IResource):
    """The site: ``/Modhub``. Rendered pages, no bearer tokens."""


class ICatalogue(IResource):
    """``/api/modhub``: the mods."""


class IMod(IResource):
    """One mod, wherever it is mounted. ``id`` is None if the address is not a number."""

    id = Attribute("The mod's number or None.")
    owner = Attribute("The account id of its owner, None when there is no such mod.")


class IAuthor(IResource):
    """``/Modhub/by/{accountId}``: an author's published mods. ``exists`` is False without any."""

    id = Attribute("The account's id or None.")


class IApiAuthor(IResource):
    """``/api/modhub/authors/{accountId}``: for calls about an account; whether there is one, its children say."""

    id = Attribute("The account's id or None.")


class INotes(IResource):
    """``/api/modhub/{id}/changelog``"""


class INote(IResource):
    """One changelog entry of a mod."""


class IVotes(IResource):
    """``/api/modhub/{id}/vote``"""


class IImages(IResource):
    """``/api/modhub/{id}/images``"""


class IAsset(IResource):
    """One file of a mod."""


class IFiles(IResource):
    """``/Modhub/file``"""


class IOwnMod(IResource):
    """One mod in its owner's workshop: ``/Modhub/mine/{id}``. Children of `IMod` are not available here."""

    id = Attribute("The mod's number or None.")
    owner = Attribute("The account id of its owner, None when there is no such mod.")


class IMine(IResource):
    """``/Modhub/mine``: the owner's workshop."""


class IGameIcons(IResource):
    """``/Modhub/game-icon``"""


class IGameIcon(IResource):
    """``/Modhub/game-icon/{iconId}``"""


class IPictures(IResource):
    """``/Modhub/picture``, and the pictures of one image below it."""


class IPicture(IResource):
    """``/Modhub/picture/{assetId}/{name}``"""


class ISizedPicture(IResource):
    """``/Modhub/picture/{assetId}/{width}``: the picture of an image by its width alone."""


class ICredential(Interface):
    """How a kind of caller is recognised on the API or on the site; registered with ``config.add_credential``."""

    def identify(request: Any) -> "Any | None":  # noqa: N805 - zope interfaces have no self
        """The :class:`modhub.base.identity.Identity` of the caller, None if nothing valid was presented."""

    def challenge(request: Any) -> Any:  # noqa: N805
        """The error or response for a caller without permission."""
