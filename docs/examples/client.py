"""The parts 1 to 5 of docs/clients.md, with Python's standard library alone."""

import hashlib
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

# 1. Find mods

SERVICE = "https://mods.example.org"
GUID = "6b1f5c1e-8a57-4c9e-9f4e-2d1a6c1f7b90"


def post(path, body):
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(SERVICE + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


for mod in post("/api/modhub/lookup", {"guids": [GUID]})["mods"]:
    print(mod["title"])


# 2. Plan an installation

plan = post("/api/modhub/plan", {"want": [GUID], "have": []})
if plan["conflicts"] or plan["missing"]:
    raise SystemExit(f"Ask the user: {plan['conflicts']} {plan['missing']}")
to_fetch = [step for step in plan["steps"] if step["action"] != "keep"]


# 3. Download, resume, verify


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments):
        return None


opener = urllib.request.build_opener(NoRedirects)


def address_of(url):
    address = urllib.parse.urljoin(SERVICE, url)
    if urllib.parse.urlsplit(address)[:2] != urllib.parse.urlsplit(SERVICE)[:2]:
        raise SystemExit(f"Not an address of this service: {url}")
    return address


def download(step, part):
    address, tag = address_of(step["url"]), f'"{step["sha256"]}"'
    for pause in (0, 1, 5, 25, 125):
        time.sleep(pause)
        start = part.stat().st_size if part.exists() else 0
        headers = {"Range": f"bytes={start}-", "If-Range": tag} if start else {"If-Match": tag}
        try:
            with opener.open(urllib.request.Request(address, headers=headers), timeout=30) as answer:
                with part.open("wb" if answer.status == 200 else "ab") as file:
                    while chunk := answer.read(65536):
                        file.write(chunk)
                    file.flush()
                    os.fsync(file.fileno())
        except urllib.error.HTTPError as error:
            if error.code not in (416, 429, 503):  # 416: all of it was there
                raise
        except OSError:
            pass  # the connection broke: go on from here
        if part.exists() and part.stat().st_size >= step["bytes"]:
            return
    raise SystemExit("The service cannot be reached: try again later.")


for step in to_fetch:
    part = Path(f"{step['guid']}.part")
    download(step, part)
    if hashlib.sha256(part.read_bytes()).hexdigest() != step["sha256"]:
        part.unlink()
        raise SystemExit("Damaged on the way: download it again.")
    part.replace(f"{step['guid']}.mod")


# 4. Ask for updates

have = [{name: step[name] for name in ("guid", "sha256", "relations")} for step in to_fetch]
updates = post("/api/modhub/updates", {"have": have})
assert updates["same"] == len(have), "a file has changed in the last second"
assert updates["relationsChanged"] == [], "ask for a new plan"

for digest in {entry["sha256"] for entry in have}:
    try:
        with urllib.request.urlopen(f"{SERVICE}/api/modhub/advisories/{digest[:5]}", timeout=30) as answer:
            advisories = json.load(answer)["advisories"]
    except urllib.error.HTTPError as error:
        assert error.code == 404
        break
    standing = {told["sha256"] for told in advisories if told["withdrawnAt"] is None}
    assert digest not in standing, f"do not use the file {digest}"


# 5. Follow the whole catalogue


def follow(serial, feed):
    while True:
        address = f"{SERVICE}/api/modhub/changes?since={serial}&feed={feed}&limit=1000"
        with urllib.request.urlopen(address, timeout=30) as answer:
            page = json.load(answer)
        yield from page["changes"]
        serial, feed = page["serial"], page["feed"]
        if not page["more"]:
            return


known = {}
for change in follow(0, ""):
    if change["kind"] == "mod" and change["what"] == "deleted":
        known.pop(change["guid"], None)
    elif change["kind"] == "mod":
        known[change["guid"]] = change["id"]
