"""What the tests of advisories share: a service, its owner of mods, and an advisory."""

from hashlib import sha256

from modhub_moderation.advisories import services
from modhub_moderation.advisories.models import AdvisoryKind

FEATURES = "modhub_auth modhub_moderation"
API = "/api/modhub/advisories"
DIGEST = sha256(b"malware").hexdigest()
TEXTS = {"reason": "It sends saved passwords.", "advice": "Delete the file."}


def advise(site, *digests, kind=AdvisoryKind.MALWARE, **values):
    """Make advisories, as a decision does."""
    with site.databases.write_session.begin() as session:
        return services.create_advisories(session, digests, kind=kind, **{**TEXTS, **values})


def withdraw(site, *digests):
    """Withdraw advisories."""
    with site.databases.write_session.begin() as session:
        return services.withdraw_advisories(session, digests)


def listed(site, digest=DIGEST):
    """What programs are answered about a file."""
    return [told for told in site.get(f"{API}/{digest[:5]}").json["advisories"] if told["sha256"] == digest]


def signed_in(site, name="Ada"):
    """The service as this account calls it; the factories of `modhub_testing.mods` take it for any owner."""
    sent = {"email": f"{name.lower()}@example.org", "password": "correct horse battery", "displayName": name}
    token = site.post_json("/api/auth/register", sent, status=201).json["accessToken"]
    owner = site.as_account(0)
    owner.extra_environ["HTTP_AUTHORIZATION"] = f"Bearer {token}"
    owner.as_account = lambda *_, **__: owner
    return owner
