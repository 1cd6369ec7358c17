"""Which modules call other machines: each only where a setting says."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
CLIENTS = {
    "http.client", "urllib.request", "smtplib", "ftplib", "imaplib", "poplib", "telnetlib", "xmlrpc.client", "asyncio",
    "requests", "httpx", "aiohttp", "urllib3", "boto3", "obstore", "botocore",
}  # fmt: skip
KNOWN = {
    "modhub_auth/signin/openid.py": {"http.client"},
    "modhub_auth/mail/transports.py": {"smtplib"},
    # modhub-admin doctor: the mail server, and modhub.base_url (tests/core/test_doctor.py).
    "modhub_auth/mail/commands.py": {"smtplib"},
    "modhub/admin/doctor.py": {"http.client"},
    # It follows redirects of GET and HEAD, without the signature: ADR 021.
    "modhub/blobs/s3/connection.py": {"obstore"},
    # Programs for other machines, which the service never runs: they call the service that an argument names.
    # urllib.request only reads the environment's proxies (tests/clients/test_proxies.py).
    "clients/modhub_client/transport.py": {"http.client", "urllib.request"},
    "clients/modhub_client/publish/client.py": {"http.client"},
    # tests/clients/test_get_hostile.py
    "clients/modhub_client/get/service.py": {"http.client"},
    "clients/modhub_client/get/transfer.py": {"http.client"},
    # tests/clients/verify/test_verify_service.py
    "clients/modhub_client/verify/replies.py": {"http.client"},
    "clients/modhub_client/verify/service.py": {"http.client"},
}
"""What calls out, and by what. A line may be added for what asks only where a setting or a stored, validated address
says, follows no redirect, and is bounded in time and size; with a test of each."""


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_nothing_else_calls_out():
    # T-C15
    calling = {}
    for path in sorted([*ROOT.glob("modhub*/**/*.py"), *ROOT.glob("clients/**/*.py")]):
        if "modhub_testing" not in path.parts:
            names = {f"{name}." for name in imported(ast.parse(path.read_text("utf-8")))}
            clients = {client for client in CLIENTS if any(name.startswith(f"{client}.") for name in names)}
            if clients:
                calling[path.relative_to(ROOT).as_posix()] = clients
    assert {path: names for path, names in calling.items() if KNOWN.get(path) != names} == {}
