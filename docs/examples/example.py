"""A client made by openapi-python-client: docs/clients.md, part 11."""

import hashlib
import io
import pathlib
import uuid

from modhub_api import AuthenticatedClient, Client
from modhub_api.api.accounts import register
from modhub_api.api.following_the_catalogue import plan_installation
from modhub_api.api.mods import create_mod, delete_mod, download_mod, list_mods, publish_mod, read_mod, upload_code
from modhub_api.models import NewMod, PlanRequest, Registration
from modhub_api.types import File

SERVICE = "https://mods.example.org"


def need(answer):
    if answer is None or hasattr(answer, "error"):
        raise SystemExit(f"Rejected: {answer}")
    return answer


# Everybody: find, read, plan, download.
reader = Client(SERVICE)
found = need(list_mods.sync(client=reader, q="rally"))
mod = need(read_mod.sync(found.mods[0].id, client=reader))
plan = need(plan_installation.sync(client=reader, body=PlanRequest(want=[mod.guid])))
digests = {entry.guid: entry.sha256 for entry in plan.lock.entries}
for step in mod.install:
    sha256 = digests[step.guid]
    content = need(download_mod.sync(step.id, client=reader, if_match=f'"{sha256}"')).payload.read()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise SystemExit("Damaged on the way: download it again.")
    pathlib.Path(f"{step.guid}.mod").write_bytes(content)
    print("downloaded", step.guid, sha256)

# Authors: register, create, upload, publish, delete.
account = Registration(email=f"ada-{uuid.uuid4()}@example.org", password="a long sentence")
session = need(register.sync(client=reader, body=account))
author = AuthenticatedClient(SERVICE, session.access_token)
draft = need(create_mod.sync(client=author, body=NewMod(title="My display", games=["Portal 2"])))
code = File(io.BytesIO(b"the code of my mod"))
need(upload_code.sync(draft.id, client=author, body=code, version="1.0", name="display.zip"))
published = need(publish_mod.sync(draft.id, client=author))
print("published", published.id, published.version)
print("deleted", delete_mod.sync_detailed(draft.id, client=author).status_code)
