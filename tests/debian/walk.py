"""Run on the machine: what people do, from registering to downloading, with the service's address as the argument.

It uses the Python of the service, whose Pillow draws the image. It ends with an error where anything goes wrong.
"""

import http.client
import io
import json
import os
import re
import ssl
import sys
import time
from urllib.parse import urlsplit

from PIL import Image

BASE = urlsplit(sys.argv[1])
PASSWORD = "ten characters or more"  # as docs/operations.md registers its operator with
PICTURE_SECONDS = 60


def ask(status, method, path, body=None, *, token="", base=BASE):
    if base.scheme == "https":
        connection = http.client.HTTPSConnection(
            base.netloc, timeout=100, context=ssl.create_default_context(cafile="/etc/ssl/certs/ca-certificates.crt")
        )
    else:
        connection = http.client.HTTPConnection(base.netloc, timeout=100)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if isinstance(body, dict):
        body = json.dumps(body)
        headers["Content-Type"] = "application/json"
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    assert response.status == status, (method, path, response.status, content[:1000])
    return content


def sign_in(base=BASE):
    """Through nginx, or by one of the processes: each has threads of its own that hash."""
    credentials = {"email": "operator@example.org", "password": PASSWORD}
    return str(json.loads(ask(200, "POST", "/api/auth/login", credentials, base=base))["accessToken"])


def wait_for_pictures(mod):
    deadline = time.monotonic() + PICTURE_SECONDS
    while True:
        page = ask(200, "GET", f"/Modhub/{mod}").decode()
        if paths := re.findall(r"/Modhub/picture/[^\s\"]+", page):
            return sorted(set(paths))
        assert time.monotonic() < deadline, page
        time.sleep(0.5)


def main():
    ask(201, "POST", "/api/auth/register", {"email": f"{os.getpid()}@example.org", "password": PASSWORD})
    for port in (6543, 6544):
        sign_in(urlsplit(f"http://127.0.0.1:{port}"))
    token = sign_in()
    # Spooled to a temporary file, stored, sent with sendfile: each of these needs rights of its own.
    code = os.urandom(20_000_000)
    mod = json.loads(ask(201, "POST", "/api/modhub", {"title": f"Walked {os.getpid()}"}, token=token))["id"]
    ask(201, "POST", f"/api/modhub/{mod}/code?version=1&name=a.zip", code, token=token)
    file = io.BytesIO()
    Image.radial_gradient("L").resize((1280, 720)).rotate(os.getpid() % 360).save(file, "PNG")
    ask(201, "POST", f"/api/modhub/{mod}/images?name=a.png", file.getvalue(), token=token)
    ask(200, "POST", f"/api/modhub/{mod}/publish", token=token)
    assert ask(200, "GET", f"/api/modhub/{mod}/download") == code
    formats = set()
    for path in wait_for_pictures(mod):
        picture = Image.open(io.BytesIO(ask(200, "GET", path)))
        picture.load()
        formats.add(picture.format)
    sys.stdout.write(json.dumps({"mod": mod, "pictures": sorted(formats)}) + "\n")


if __name__ == "__main__":
    main()
