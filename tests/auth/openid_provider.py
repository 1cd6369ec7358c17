"""A small OpenID 2.0 provider on loopback for the tests, with a page for browsers.

Tests of other folders take it by `runpy.run_path`.
"""

import base64
import hashlib
import hmac
import secrets
import threading
from contextlib import suppress
from datetime import UTC, datetime
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

SIGNED = ["op_endpoint", "return_to", "response_nonce", "assoc_handle", "claimed_id", "identity"]
SUBJECT = "76561198000000001"
PAGE = """<!doctype html><html lang="en"><head><title>Provider</title></head><body><main><h1>Provider</h1>
<form method="post"><input type="hidden" name="asked" value="{asked}">
<button name="subject" value="{subject}">Yes, sign in</button></form>
</main></body></html>"""


class Provider:
    """The provider's half of OpenID 2.0 without associations (sections 10, 11.4.2): it signs, and confirms once."""

    def __init__(self, port=0):
        self.key = secrets.token_bytes(32)
        self.confirmed = []
        self.trickles = False
        self.closing = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write(PAGE.format(asked=escape(self.path), subject=SUBJECT).encode())

            def do_POST(self):
                sent = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode(), True))
                if "asked" in sent:
                    self.send_response(302)
                    self.send_header("Location", outer.answer(sent["asked"], sent["subject"]))
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                if outer.trickles:
                    self.trickle()
                    return
                valid = sent.get("openid.mode") == "check_authentication" and outer.verify(sent)
                outer.confirmed.append(valid)
                body = f"ns:http://specs.openid.net/auth/2.0\nis_valid:{'true' if valid else 'false'}\n".encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def trickle(self):
                """Begin an answer and never end it."""
                self.send_response(200)
                self.send_header("Content-Length", "60000")
                self.end_headers()
                with suppress(OSError):
                    while not outer.closing.wait(0.1):
                        self.wfile.write(b"x")

            def log_message(self, *_given):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self.server.server_address[1]}/openid/login"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()

    def close(self):
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def sign(self, fields):
        text = "".join(f"{name}:{fields[f'openid.{name}']}\n" for name in fields["openid.signed"].split(","))
        return base64.b64encode(hmac.digest(self.key, text.encode(), hashlib.sha1)).decode()

    def answer(self, request, subject):
        """Return where the browser goes after the person has signed in."""
        [return_to] = parse_qs(urlsplit(request).query)["openid.return_to"]
        return f"{return_to}&{urlencode(self.assertion(request, subject))}"

    def verify(self, fields):
        try:
            return hmac.compare_digest(self.sign(fields), fields["openid.sig"])
        except KeyError:
            return False

    def assertion(self, request, subject=SUBJECT, signed=SIGNED, **edited):
        """A positive assertion; ``edited`` fields are changed before it is signed."""
        wish = {name: values[0] for name, values in parse_qs(urlsplit(request).query).items()}
        claimed = f"https://steamcommunity.com/openid/id/{subject}"
        fields = {
            "openid.ns": "http://specs.openid.net/auth/2.0",
            "openid.mode": "id_res",
            "openid.op_endpoint": self.endpoint,
            "openid.claimed_id": claimed,
            "openid.identity": claimed,
            "openid.return_to": wish["openid.return_to"],
            "openid.response_nonce": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}{secrets.token_hex(8)}",
            "openid.assoc_handle": "1",
            "openid.signed": ",".join(signed),
        }
        fields.update({f"openid.{name}": value for name, value in edited.items()})
        fields["openid.sig"] = self.sign(fields)
        return fields
