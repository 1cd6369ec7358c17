"""A small feature for tests: readers' remarks on a mod. It uses only what any feature may use."""

from markupsafe import Markup
from msgspec import UNSET, Struct, UnsetType
from pyramid.authorization import Allow, Authenticated
from pyramid.config import Configurator
from sqlalchemy import String, delete, func, select
from sqlalchemy.orm import Mapped, Session, mapped_column
from zope.interface import implementer

from modhub.base.errors import OwnershipLost, conflict, not_found
from modhub.base.identity import CredentialKind, Permission
from modhub.base.service_registry import find_optional_service, find_service
from modhub.base.settings import Setting, positive
from modhub.content.text import line
from modhub.db import Base, Databases, Id
from modhub.plugins.commands import AdminCommand
from modhub.plugins.events import AccountDeleted, ModsDeleted
from modhub.plugins.resources import IApiAuthor, IMod, IResource
from modhub.plugins.services import IAccounts, IModCards, IMods
from modhub.web.payload import read_json
from modhub.web.request import Request
from modhub.web.traversal import OwnedResource, Resource, parse_id
from modhub.web.views import OPEN, api

SETTINGS = [Setting("modhub_ratings.most", positive, "20", "longest remark")]


class Remark(Base):
    """What somebody said about a mod. Plain numbers, because mods and accounts belong to other packages."""

    __tablename__ = "ratings_remark"
    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    mod_id: Mapped[int] = mapped_column(Id, index=True)
    account_id: Mapped[int] = mapped_column(Id, index=True)
    text: Mapped[str] = mapped_column(String(200))


class RemarkPermission(Permission):
    """What may be done with remarks."""

    WRITE = "remark:write", CredentialKind.ACCOUNT


class IRemarks(IResource):
    """``/api/modhub/{id}/remarks``"""


class IRemark(IResource):
    """``/api/modhub/{id}/remarks/{remarkId}``"""


@implementer(IRemarks)
class RemarksResource(Resource):
    """The remarks on a mod, there when everybody sees the mod."""

    __acl__ = [(Allow, Authenticated, RemarkPermission.WRITE)]

    @property
    def mod_id(self) -> int:
        """The mod's number, 0 for an address that is not a number: no mod has it."""
        return self.__parent__.id or 0

    def check_exists(self, session: Session) -> bool:
        """Whether the mod is published."""
        mods = self.request.find_service(IMods).get_mods(session, [self.mod_id])
        return self.mod_id in mods and mods[self.mod_id].published

    def get_member(self, name: str) -> "RemarkResource":
        """The remark with this id, whether it is there or not."""
        return RemarkResource(self, name)


@implementer(IRemark)
class RemarkResource(OwnedResource):
    """One remark, of the account that wrote it. Without the base class the collection's ACL would open it to all."""

    owner_permissions = (RemarkPermission.WRITE,)

    def find_owner(self, session: Session) -> int | None:
        """By the remark's row."""
        number = parse_id(self.__name__) or 0
        remark = select(Remark.account_id).where(Remark.id == number, Remark.mod_id == self.__parent__.mod_id)
        return session.scalar(remark)


class NewRemark(Struct):
    """``POST /api/modhub/{id}/remarks``"""

    text: str
    replace: bool | UnsetType | None = UNSET


@api(context=IRemarks, request_method="GET", permission=OPEN)
def read_remarks(context: RemarksResource, request: Request) -> dict[str, list[str]]:
    """All remarks on a mod that everybody sees."""
    if not context.exists:
        raise not_found()
    statement = select(Remark.text).where(Remark.mod_id == context.mod_id).order_by(Remark.id)
    return {"remarks": list(request.dbsession.scalars(statement))}


@api(context=IRemarks, request_method="POST", permission=RemarkPermission.WRITE)
def add_remark(context: RemarksResource, request: Request) -> dict[str, object]:
    """One remark an account; ``replace`` takes the place of the one before."""
    body, account_id = read_json(request, NewRemark), request.authenticated_userid
    most = request.registry.settings["modhub_ratings.most"]
    session = request.dbsession
    # What is made here has an owner and a mod until the transaction ends; the account first, as everywhere.
    accounts = find_optional_service(request.registry, IAccounts)
    if accounts is not None and not accounts.lock(session, account_id):
        raise OwnershipLost
    if not request.find_service(IMods).lock(session, context.mod_id):
        raise not_found()
    own = (Remark.mod_id == context.mod_id, Remark.account_id == account_id)
    if body.replace is UNSET and session.scalar(select(Remark.id).where(*own)):
        raise conflict(
            "remark_exists", "You have said something about %(mod)s already.", values={"mod": context.mod_id}
        )
    session.execute(delete(Remark).where(*own))
    remark = Remark(mod_id=context.mod_id, account_id=account_id, text=line(body.text, 200)[:most])
    session.add(remark)
    session.flush()
    request.response.status_int = 201
    return {"id": remark.id, "remark": remark.text}


@api(context=IRemark, request_method="DELETE", permission=RemarkPermission.WRITE)
def delete_remark(context: RemarkResource, request: Request) -> dict[str, bool]:
    """Its author takes it back."""
    request.dbsession.execute(delete(Remark).where(Remark.id == parse_id(context.__name__)))
    return {"ok": True}


class IRemarksOfAuthor(IResource):
    """``/api/modhub/authors/{accountId}/remarks``"""


@implementer(IRemarksOfAuthor)
class RemarksOfAuthor(OwnedResource):
    """What an account has said, for itself."""

    owner_permissions = (RemarkPermission.WRITE,)

    def find_owner(self, session: Session) -> int | None:
        """The account itself."""
        return self.__parent__.id


@api(context=IRemarksOfAuthor, request_method="GET", permission=RemarkPermission.WRITE)
def read_own_remarks(context: RemarksOfAuthor, request: Request) -> dict[str, list[str]]:
    """All own remarks."""
    own = select(Remark.text).where(Remark.account_id == request.authenticated_userid).order_by(Remark.id)
    return {"remarks": list(request.dbsession.scalars(own))}


def oldest_panel(context: Resource, request: Request) -> Markup:
    """An author's mods, the oldest first."""
    mods = request.find_service(IMods).get_mods_of_account(request.dbsession, context.id)
    cards = request.find_service(IModCards).get_cards(request, sorted(mod.id for mod, _ in mods))
    return Markup("<div id='oldest'>{}</div>").format(cards)


def remarks_panel(context: Resource, request: Request) -> Markup:
    """The newest remark on a mod's page; ``format`` of ``Markup`` escapes what it is given."""
    statement = select(Remark.text).where(Remark.mod_id == context.id).order_by(Remark.id.desc())
    newest = request.dbsession.scalar(statement.limit(1))
    return Markup("<p>panel of remarks: {}</p>").format(newest or "none")


def delete_remarks_of_mods(event: ModsDeleted) -> None:
    """With their mods, in the same transaction."""
    event.session.execute(delete(Remark).where(Remark.mod_id.in_(event.mod_ids)))


def delete_remarks_of_account(event: AccountDeleted) -> None:
    """With their author, in the same transaction."""
    event.session.execute(delete(Remark).where(Remark.account_id == event.account_id))


def count_remarks(admin, _arguments):
    """``modhub-admin remarks``"""
    with admin.reading() as session:
        admin.say(f"{session.scalar(select(func.count(Remark.id)))} remarks.")
    return 0


class RemarkCounter:
    """A service of this feature, for others to find by its class."""

    def __init__(self, databases: Databases) -> None:
        self.databases = databases

    def count(self) -> int:
        """How many remarks there are."""
        with self.databases.readonly_session() as session:
            return session.scalar(select(func.count(Remark.id))) or 0


def includeme(config: Configurator) -> None:
    """The whole feature."""
    config.include("modhub")
    config.add_feature("modhub_ratings", "Remarks", settings=SETTINGS, migrations="ratings_")
    config.add_service(RemarkCounter, RemarkCounter(find_service(config.registry, Databases)))
    config.add_child(IMod, "remarks", RemarksResource)
    config.add_child(IApiAuthor, "remarks", RemarksOfAuthor)
    config.add_panel("mod", "remarks", remarks_panel)
    config.add_panel("author", "oldest", oldest_panel)
    config.add_subscriber(delete_remarks_of_mods, ModsDeleted)
    config.add_subscriber(delete_remarks_of_account, AccountDeleted)
    config.add_command(AdminCommand("remarks", "count the remarks", lambda parser: None, count_remarks))
    config.scan("modhub_ratings")
