"""modhub_auth: accounts, sign-in and tokens."""

from pyramid.config import Configurator

from modhub.events import Served
from modhub.identity import Credential
from modhub.interfaces import IAccounts, IApi, IDemoAccounts, IProfiles
from modhub_auth.credentials import Bearer
from modhub_auth.parts import make_parts
from modhub_auth.payloads import BODY
from modhub_auth.people import Accounts, DemoAccounts, Profiles
from modhub_auth.resources import Auth
from modhub_auth.settings import ACCOUNTS, MAIL


def start_sender(event: Served) -> None:
    """Letters leave beside the requests of a service; commands and tests send them by themselves."""
    event.registry.accounts.sender.start()


def includeme(config: Configurator) -> None:
    """Where accounts are in the tree, how their callers are recognised, what they keep."""
    config.include("modhub")
    config.add_feature("modhub_auth", "Accounts")
    config.declare_settings("modhub_auth.", ACCOUNTS)
    config.declare_settings("mail.", MAIL)
    config.add_migrations("modhub_auth", "modhub_auth:migrations", "auth_")
    config.registry.accounts = make_parts(config.registry)
    config.add_child(IApi, "auth", Auth)
    config.add_credential(Credential.ACCOUNT, IApi, Bearer())
    config.registry.registerUtility(Profiles(config.registry.databases.reads), IProfiles)
    config.registry.registerUtility(Accounts(), IAccounts)
    config.registry.registerUtility(DemoAccounts(), IDemoAccounts)
    config.add_subscriber(start_sender, Served)
    config.include("modhub_auth.commands")
    config.include("modhub_auth.pages")
    config.include("modhub_auth.documentation")
    config.add_body_limit(("POST", "PUT", "DELETE"), "/api/auth/{rest...}", BODY)
    for hashing in ("register", "login"):
        config.add_body_limit("POST", f"/api/auth/{hashing}", BODY, waits=True)
    config.scan("modhub_auth.views")
