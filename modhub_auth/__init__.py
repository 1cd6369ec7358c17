"""modhub_auth: accounts, sign-in and tokens."""

from pyramid.config import Configurator

from modhub.events import ApplicationStarted
from modhub.interfaces import IAccounts, IApi, IDemoAccounts, IProfiles
from modhub.security.identity import CredentialKind
from modhub_auth.container import create_auth_services
from modhub_auth.profiles import AccountLocks, AccountProfiles, DemoAccounts
from modhub_auth.request_schemas import MAX_ACCOUNT_BODY
from modhub_auth.resources import Auth
from modhub_auth.settings import ACCOUNT_SETTINGS, MAIL_SETTINGS
from modhub_auth.signin.bearer import BearerCredential


def start_sender(event: ApplicationStarted) -> None:
    """Letters leave beside the requests of a service; commands and tests send them by themselves."""
    event.registry.accounts.sender.start()


def includeme(config: Configurator) -> None:
    """Where accounts are in the tree, how their callers are recognised, what they keep."""
    config.include("modhub")
    config.add_feature("modhub_auth", "Accounts")
    config.declare_settings("modhub_auth.", ACCOUNT_SETTINGS)
    config.declare_settings("mail.", MAIL_SETTINGS)
    config.add_migrations("modhub_auth", "modhub_auth:migrations", "auth_")
    config.registry.accounts = create_auth_services(config.registry)
    config.add_child(IApi, "auth", Auth)
    config.add_credential(CredentialKind.ACCOUNT, IApi, BearerCredential())
    config.registry.registerUtility(AccountProfiles(config.registry.databases.raw_queries), IProfiles)
    config.registry.registerUtility(AccountLocks(), IAccounts)
    config.registry.registerUtility(DemoAccounts(), IDemoAccounts)
    config.add_subscriber(start_sender, ApplicationStarted)
    config.include("modhub_auth.commands")
    config.include("modhub_auth.pages")
    config.include("modhub_auth.documentation")
    config.add_body_limit(("POST", "PUT", "DELETE"), "/api/auth/{rest...}", MAX_ACCOUNT_BODY)
    for hashing in ("register", "login"):
        config.add_body_limit("POST", f"/api/auth/{hashing}", MAX_ACCOUNT_BODY, waits=True)
    config.scan("modhub_auth.views")
