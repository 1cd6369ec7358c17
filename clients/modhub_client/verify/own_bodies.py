"""Part ``own``: bodies that are wrong, odd or hostile, sent to a draft."""

from typing import Any

from modhub_client.verify.own_mod import mod_of
from modhub_client.verify.owner import error_of, own_check
from modhub_client.verify.replies import Reply, require, require_equal
from modhub_client.verify.run import Run


@own_check("C-ERR-10", "C-ERR-11")
def _a_body_that_cannot_be_read_is_refused_with_the_name_of_the_field(run: Run) -> None:
    """No JSON, no object, no UTF-8, nested too deeply, wrong types."""
    mod = mod_of(run)
    for body in (b"{", b"[]", b'"text"', b'{"title": "\xff"}', b'{"games": ' + b"[" * 5000 + b"]" * 5000 + b"}"):
        _put(run, body).expect_error(400)
    wrong: dict[str, Any] = {"title": 7, "description": [], "requires": "x", "conflictsWith": 1}
    for name, value in wrong.items():
        message = str(mod.edit({name: value}).expect_error(400).get("message"))
        require(name in message, f"The refusal of a wrong {name} does not name it: {message}")


@own_check("C-ERR-13", "C-ERR-14")
def _unknown_fields_and_media_types_are_tolerated(run: Run) -> None:
    """And of a doubled key the last value counts."""
    mod = mod_of(run)
    mod.edited({"colour": "red"})
    doubled = _put(run, b'{"description": "<p>first</p>", "description": "<p>last</p>"}').expect(200).document()
    require_equal("the description of a doubled key", "<p>last</p>", doubled["description"])
    _put(run, b'{"description": "<p>typed</p>"}', "text/plain").expect(200)


@own_check("C-ERR-8")
def _no_field_makes_the_service_fail(run: Run) -> None:
    """NUL, lone surrogates, huge numbers, odd ids."""
    mod = mod_of(run)
    mark = mod.owner.mark.encode()
    for body in (
        b'{"title": "%s \\u0000"}' % mark,
        b'{"title": "%s \\ud800"}' % mark,
        b'{"description": "\\ud800\\u0000"}',
        b'{"games": [1e999]}',
        b'{"requires": [' + b"9" * 5000 + b"]}",
    ):
        reply = _put(run, body)
        require(reply.status in {200, 400}, f"PUT of {body[:60]!r}: expected 200 or 400, came {reply.status}.")
    for number in (2**63, 2**200, "-1", "01", "%00", "1%2F2"):
        reply = mod.owner.call("PUT", f"/api/modhub/{number}", {})
        require(reply.status in {400, 401, 404}, f"{reply.call}: came {reply.status} {error_of(reply)}.")


def _put(run: Run, body: bytes, media_type: str = "application/json") -> Reply:
    mod = mod_of(run)
    _ = mod.draft
    return mod.owner.call("PUT", mod.path(), body=body, headers={"Content-Type": media_type})
