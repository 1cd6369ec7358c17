"""What modhub.server relies on in waitress is unchanged since it was reviewed (ADR 015)."""

import importlib.util
import json
import types
from pathlib import Path
from typing import Any

import pytest
from waitress.channel import HTTPChannel

from modhub.server.channel import Channel

ROOT = Path(__file__).parents[2]


def load_fence() -> Any:
    spec = importlib.util.spec_from_file_location("waitress_fence", ROOT / "tools" / "waitress_fence.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


fence = load_fence()
RECORD = json.loads((ROOT / "tools" / "waitress_fence.json").read_text("utf-8"))


def test_waitress_is_what_was_read():
    changed = fence.changes(RECORD)
    assert changed == [], (
        f"modhub.server relies on these names of waitress, and they are not what was read in {RECORD['waitress']}. "
        "Read what has changed and mend modhub/server; then run: .venv/bin/python tools/waitress_fence.py --write"
    )


@pytest.mark.parametrize(
    "name",
    [
        "waitress.channel.HTTPChannel.received",  # overridden
        "waitress.channel.HTTPChannel._flush_some_if_lockable",  # private and called
        "waitress.channel.HTTPChannel.parser_class",  # a value
        "waitress.server.BaseWSGIServer.handle_accept",  # overridden by a mixin
        "waitress.receiver.ChunkedReceiver.getbuf",  # of a class that ours stands in for
        "waitress.task.ThreadedTaskDispatcher.handler_thread",  # reads the queue that ours replaces
        "waitress.trigger._triggerbase.close",  # sets a private attribute that ours reads
        "waitress.proxy_headers.parse_proxy_headers",  # imported
        "waitress.wasyncore.poll2",  # called through its module
    ],
)
def test_every_kind_of_reliance_is_recorded(name: str):
    assert name in RECORD["read"]


def test_a_method_that_waitress_changed_is_reported(monkeypatch):
    changed = types.FunctionType(HTTPChannel.received.__code__, HTTPChannel.service.__globals__)
    changed.__module__ = "elsewhere"
    monkeypatch.setattr(HTTPChannel, "received", changed)
    assert fence.changes(RECORD) == ["changed: waitress.channel.HTTPChannel.received"]


def test_a_value_that_waitress_changed_is_reported(monkeypatch):
    monkeypatch.setattr("waitress.adjustments.Adjustments.backlog", 1025)
    assert fence.changes(RECORD) == ["changed: waitress.adjustments.Adjustments.backlog"]


def test_a_new_override_is_reported_until_its_original_was_reviewed(monkeypatch):
    monkeypatch.setattr(Channel, "send", lambda *_: 0, raising=False)
    assert fence.changes(RECORD) == ["not reviewed yet: waitress.wasyncore.dispatcher.send"]


def test_a_method_that_waitress_removed_is_reported(monkeypatch):
    monkeypatch.delattr(HTTPChannel, "cancel")
    assert fence.changes(RECORD) == ["removed, or no longer used: waitress.channel.HTTPChannel.cancel"]
