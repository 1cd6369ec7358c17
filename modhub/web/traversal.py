"""The traversal tree: one resource class per thing, children declared with ``config.add_child``.

A resource is a thin object with a parent, a name and the request. Creating one does not query the database: rows are
loaded when an ACL or a view first needs them. So an absent thing has the same resource, views and errors as somebody
else's (C-OWN-12), and ``exists`` distinguishes the two only after the ACL has allowed the caller.

Both questions are answered by a read-only session: the request's own would take SQLite's write lock for a caller who is
then refused (C-OWN-13).
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import Any, ClassVar

from pyramid.authorization import DENY_ALL, Allow
from pyramid.config import Configurator
from pyramid.interfaces import IMultiView, IRequest, ISecuredView, ITraverser, IView, IViewClassifier
from sqlalchemy.orm import Session
from zope.interface import implementedBy, implementer

from modhub.base.identity import Permission, principal_for_account
from modhub.base.operations import Parameter
from modhub.base.service_registry import find_service
from modhub.plugins.declarations import Declarations
from modhub.plugins.resources import IApi, IResource, IRoot, ISite
from modhub.plugins.services import IMods, ModSummary
from modhub.web.request import Request

Acl = list[tuple[str, str, Any]]
ANY = "*"
"""The name of a child that matches every segment that no other child or view has."""

_ID = re.compile(r"\A(?:0|[1-9][0-9]{0,17})\Z")


Factory = Callable[["Resource", str], "Resource"]


def parse_id(segment: str) -> int | None:
    """The id in ``segment``, None if it is not a plain decimal number of at most 18 digits.

    Each number has one spelling: ``01`` would be a second address of the same thing.
    """
    return int(segment) if _ID.match(segment) else None


def _children_of(declared: Mapping[tuple[Any, str], Factory], resource_class: type) -> dict[str, Factory]:
    """The declared children of a resource class, by name.

    Computed once per class: walking the interfaces at each step of a traversal costs more than the step.
    """
    return {
        name: factory
        for interface in reversed(list(implementedBy(resource_class)))
        for (parent, name), factory in declared.items()
        if parent is interface
    }


def _view_names_of(adapters: Any, resource_class: type) -> frozenset[str]:
    """The names of the views of a resource class.

    Not asked name by name: ``registry.adapters`` remembers each name that it does not know, and callers send any.
    """
    required = (IViewClassifier, IRequest, implementedBy(resource_class))
    kinds = (IView, ISecuredView, IMultiView)
    return frozenset(name for kind in kinds for name, _ in adapters.lookupAll(required, kind))


@dataclass(frozen=True, slots=True)
class Addresses:
    """What is at the addresses of an application."""

    children_of: Callable[[type], dict[str, Factory]]
    view_names_of: Callable[[type], frozenset[str]]
    methods: dict[tuple[Any, str, Any], set[str]] = field(default_factory=dict)
    """The methods of each (interface, view name, is_api); complete once all views are declared."""


@implementer(IResource)
class Resource:
    """The base of every resource."""

    __acl__: Any = ()
    __parent__: "Resource | None"
    __name__: str
    segment: ClassVar[Parameter | None] = None
    """What a variable segment of an address is, for the description of the API; None for a fixed one."""
    member: ClassVar["type[Resource] | None"] = None
    """Of a collection: what any segment leads to that names no other child, whether or not it exists."""

    def __init__(self, parent: "Resource | None", name: str, request: Request | None = None) -> None:
        self.__parent__ = parent
        self.__name__ = name
        if request is None and parent is not None:
            request = parent.request
        assert request is not None
        self.request: Request = request

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuse the properties that a subclass could only answer with a session of its own choice."""
        super().__init_subclass__(**options)
        if cls.__module__ != __name__ and {"exists", "owner"} & vars(cls).keys():
            raise TypeError(f"{cls.__name__} must define check_exists(session) or find_owner(session) instead")

    @cached_property
    def id(self) -> int | None:
        """The number that its segment of the address is; None if it is none."""
        return parse_id(self.__name__)

    def check_exists(self, session: Session) -> bool:  # noqa: ARG002 - for those who override it
        """Whether there is anything at this address. ``session`` is read-only, unless a view calls with its own."""
        return True

    @cached_property
    def exists(self) -> bool:
        """The result of :meth:`check_exists` at the first use in this request."""
        with self.request.databases.readonly_session() as session:
            return self.check_exists(session)

    def __getitem__(self, name: str) -> "Resource":
        children = self.children
        factory = children.get(name)
        if factory is not None:
            return factory(self, name)
        if name in self.request.find_service(Addresses).view_names_of(type(self)):
            raise KeyError(name)
        return self.get_member(name)

    @property
    def children(self) -> "Mapping[str, Factory]":
        """The children declared for this resource's interfaces, by name."""
        return self.request.find_service(Addresses).children_of(type(self))

    def get_member(self, name: str) -> "Resource":
        """The `member` of a collection, else the child declared as :data:`ANY`; most resources have neither."""
        factory = self.member or self.children.get(ANY)
        if factory is None:
            raise KeyError(name)
        return factory(self, name)


class OwnedResource(Resource, ABC):
    """A thing that belongs to one account and is closed to everybody else.

    To strangers an absent thing and somebody else's look the same: both are denied by the ACL, which ends here, so that
    no permission granted further up applies. Only the owner ever reaches a view.
    """

    owner_permissions: tuple[Permission, ...]
    """The owner's permissions; nobody else has any."""

    @abstractmethod
    def find_owner(self, session: Session) -> int | None:
        """The account that owns it, None if it does not exist. ``session`` is read-only. Called once per request."""

    @cached_property
    def owner(self) -> int | None:
        """The result of :meth:`find_owner`."""
        with self.request.databases.readonly_session() as session:
            return self.find_owner(session)

    @cached_property
    def exists(self) -> bool:
        """Whether there is anything at this address; only meaningful after the ACL has allowed the caller."""
        return self.owner is not None

    def __acl__(self) -> Acl:
        """Only the owner has permissions."""
        if self.owner is None:
            return [DENY_ALL]
        return [(Allow, principal_for_account(self.owner), self.owner_permissions), DENY_ALL]


class OwnModChild(OwnedResource):
    """What belongs to the mod above it, and is changed by the owner of that mod, published or not."""

    __parent__: Any

    @property
    def mod_id(self) -> int | None:
        """The mod; None if the path segment is not a number."""
        mod_id: int | None = self.__parent__.id
        return mod_id

    def find_mod(self, session: Session) -> ModSummary | None:
        """The mod, None if there is none."""
        mod_id = self.mod_id or 0
        return self.request.find_service(IMods).get_mods(session, [mod_id]).get(mod_id)

    def find_owner(self, session: Session) -> int | None:
        """The owner of the mod."""
        mod = self.find_mod(session)
        return None if mod is None else mod.owner


@implementer(IRoot)
class RootResource(Resource):
    """``/``"""


@implementer(IApi)
class ApiResource(Resource):
    """``/api``"""


@implementer(ISite)
class SiteResource(Resource):
    """``/Modhub``"""


def root_factory(request: Request) -> RootResource:
    """The root of the tree."""
    return RootResource(None, "", request)


@implementer(ITraverser)
class Traverser:
    """Walks the path as it was sent, segment by segment.

    Pyramid's own traverser resolves dots, so that ``/Modhub/file/../mine`` would be a private page at an address that
    looks like a file's, and treats ``@@name`` as a view. Here both are ordinary names. Empty segments are skipped.
    """

    def __init__(self, root: Resource) -> None:
        self.root = root

    def __call__(self, request: Request) -> dict[str, Any]:
        """The result that Pyramid expects of a traverser."""
        # The context of a route is the root.
        path: str = "/" if request.matchdict is not None else request.path_info
        segments = tuple(filter(None, path.split("/")))
        context, walked = self.root, 0
        try:
            for segment in segments:
                context = context[segment]
                walked += 1
        except KeyError:
            pass
        return {
            "context": context,
            "view_name": "".join(segments[walked : walked + 1]),
            "subpath": segments[walked + 1 :],
            "traversed": segments[:walked],
            "virtual_root": self.root,
            "virtual_root_path": (),
            "root": self.root,
        }


def includeme(config: Configurator) -> None:
    """Register the addresses and the traverser."""
    children_of = cache(partial(_children_of, find_service(config.registry, Declarations).children))
    view_names_of = cache(partial(_view_names_of, config.registry.adapters))
    config.add_service(Addresses, Addresses(children_of, view_names_of))
    config.add_traverser(Traverser)
