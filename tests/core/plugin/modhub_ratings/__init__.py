"""A tiny feature for the tests of the seam: remarks of readers under a mod. It uses what any feature may use."""

from markupsafe import Markup
from pyramid.authorization import Allow, Authenticated
from pyramid.config import Configurator
from sqlalchemy import String, select
from sqlalchemy.orm import Mapped, mapped_column
from zope.interface import implementer

from modhub.db import Base, Id
from modhub.declarations import AdminCommand
from modhub.interfaces import IMod, IResource
from modhub.payload import read_text
from modhub.security.identity import CredentialKind, Permission
from modhub.settings import Setting, positive
from modhub.traversal import Resource
from modhub.views import OPEN, api


class Remark(Base):
    """What somebody said about a mod; a plain number, because mods belong to another package."""

    __tablename__ = "ratings_remark"
    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    mod_id: Mapped[int] = mapped_column(Id, index=True)
    text: Mapped[str] = mapped_column(String(200))


class RemarkPermission(Permission):
    """What may be done with remarks."""

    ADD = "remark:add", CredentialKind.ACCOUNT


class IRemarks(IResource):
    """``/api/modhub/{id}/remarks``"""


@implementer(IRemarks)
class Remarks(Resource):
    """The remarks on a mod."""

    __acl__ = [(Allow, Authenticated, RemarkPermission.ADD)]


@api(context=IRemarks, request_method="GET", permission=OPEN)
def read_remarks(context, request):
    """All remarks."""
    found = request.dbsession.scalars(select(Remark.text).where(Remark.mod_id == context.__parent__.id))
    return {"remarks": list(found)}


@api(context=IRemarks, request_method="POST", permission=RemarkPermission.ADD)
def add_remark(context, request):
    """One more."""
    said = read_text(request, 1000)[: request.registry.settings["modhub_ratings.most"]]
    request.dbsession.add(Remark(mod_id=context.__parent__.id, text=said))
    request.response.status_int = 201
    return {"remark": said}


def count_remarks(admin, _arguments):
    """``modhub-admin remarks``"""
    with admin.reading() as session:
        admin.say(f"{len(session.scalars(select(Remark.id)).all())} remarks.")
    return 0


def includeme(config: Configurator) -> None:
    """The whole feature."""
    config.include("modhub")
    config.declare_settings("modhub_ratings.", [Setting("modhub_ratings.most", positive, "20", "longest remark")])
    config.add_feature("ratings", "Remarks")
    config.add_migrations("modhub_ratings", "modhub_ratings:migrations", "ratings_")
    config.add_child(IMod, "remarks", Remarks)
    config.add_panel("mod", "remarks", lambda context, request: Markup("<p>panel of remarks</p>"))
    config.add_command(AdminCommand("remarks", "count the remarks", lambda parser: None, count_remarks))
    config.scan("modhub_ratings")
