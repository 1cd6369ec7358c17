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
