"""Following the catalogue: look-ups by GUID, update checks, and what questions may be."""

import re
from typing import Any, Final

from modhub_client.verify.checks import follow_check
from modhub_client.verify.replies import JSON_TYPE, Reply, require, require_equal
from modhub_client.verify.run import UNKNOWN_GUID, Run, find_asset
from modhub_client.verify.shapes import MOD_SHAPE, described_answer, require_shape

_LETTERS: Final = "abcdefab-cdef-4abc-8def-abcdefabcdef"
_OTHER_LETTERS: Final = "fedcbafe-dcba-4fed-8cba-fedcbafedcba"
"""GUIDs that no mod has, with letters."""


def put_question(run: Run, call: str, **question: Any) -> Reply:
    """Ask by ``POST /api/modhub/{call}``."""
    return run.service.ask(f"/api/modhub/{call}", question)


def ask_for_updates(run: Run, *have: dict[str, Any]) -> dict[str, Any]:
    """The answer to an update check."""
    return described_answer(run, "POST /api/modhub/updates", put_question(run, "updates", have=list(have)))


def code_digest_of(run: Run, mod: dict[str, Any]) -> str:
    """The SHA-256 of a mod's code file, by its ``ETag``."""
    return run.service.head(find_asset(mod, "code")["url"]).expect(200).header("ETag").strip('"')


@follow_check("C-SYNC-1")
def a_mod_is_read_by_its_guid(run: Run) -> None:
    """In any case, as by its number: the same body, ``ETag`` and ``Link``."""
    by_number = run.service.get(run.mod_path).expect(200)
    for guid in (run.a_mod["guid"], run.a_mod["guid"].upper()):
        reply = run.service.get(f"/api/modhub/guid/{guid}").expect(200)
        require_equal(f"the body of {reply.call}", by_number.body, reply.body)
        for name in ("ETag", "Link"):
            require_equal(f"{name} of {reply.call}", by_number.header(name), reply.header(name))
    for guid in (UNKNOWN_GUID, "no-guid", UNKNOWN_GUID.replace("-", "")):
        run.service.get(f"/api/modhub/guid/{guid}").expect_error(404, "not_found")


@follow_check("C-SYNC-16", "C-MOD-1")
def a_lookup_has_mods_in_the_order_asked(run: Run) -> None:
    """Each once, with its whole shape; the others are ``missing`` as sent, in capitals or not."""
    mods = run.mods[:5]
    guids = [mod["guid"].upper() for mod in reversed(mods)]
    unknown = [_LETTERS, _OTHER_LETTERS.upper()]
    asked = [*unknown, *guids, *guids, *unknown]
    document = put_question(run, "lookup", guids=asked).expect_document()
    require_shape("the look-up", {"mods": [MOD_SHAPE], "missing": [str]}, document)
    require_equal("missing", unknown, document["missing"])
    require_equal("the mods of the look-up", list(reversed(mods)), [_listed(mod) for mod in document["mods"]])
    require("more" not in document or document["more"], "more: expected no empty list.")


def _listed(mod: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in mod.items() if name not in {"install", "missing"}}


@follow_check("C-SYNC-16")
def a_lookup_refuses_what_is_no_list_of_guids(run: Run) -> None:
    """400 for another type, for another text, and for more than 500."""
    for guids in ("text", None, [1], ["no-guid"], [f"{UNKNOWN_GUID[:-3]}{number:03}" for number in range(501)]):
        put_question(run, "lookup", guids=guids).expect_error(400)
    put_question(run, "lookup").expect_error(400)
    require_equal(
        "an empty look-up", {"mods": [], "missing": []}, put_question(run, "lookup", guids=[]).expect_document()
    )


@follow_check("C-SYNC-3")
def an_update_check_compares_files(run: Run) -> None:
    """By SHA-256 if one is sent, else by version."""
    mod, guid = run.code_mod, run.code_mod["guid"]
    digest = code_digest_of(run, mod)
    for same in ({"sha256": digest}, {"sha256": digest.upper(), "version": "another"}, {"version": mod["version"]}):
        document = ask_for_updates(run, {"guid": guid, **same})
        require_equal(
            f"an update check with {sorted(same)}",
            ([], [], 1),
            (document["changed"], document["gone"], document["same"]),
        )
    for other in (
        {"sha256": "0" * 64},
        {"sha256": "0" * 64, "version": mod["version"]},
        {"version": "another version"},
        {},
    ):
        document = ask_for_updates(run, {"guid": guid, **other}, {"guid": UNKNOWN_GUID})
        require_equal("gone", [UNKNOWN_GUID], document["gone"])
        (changed,) = document["changed"]
        file = find_asset(mod, "code")
        expected = (guid, mod["version"], digest, file["bytes"], file["url"])
        came = (changed["guid"], changed["version"], changed["sha256"], changed["bytes"], changed["url"])
        require_equal(f"what changed with {sorted(other)}", expected, came)


@follow_check("C-SYNC-3")
def an_update_check_has_the_newest_entries(run: Run) -> None:
    """At most five of a mod, as its changelog has them."""
    document = ask_for_updates(run, *({"guid": mod["guid"], "version": "another version"} for mod in run.mods[:20]))
    for changed in document["changed"]:
        require(len(changed["changelog"]) <= 5, f"{changed['guid']} has {len(changed['changelog'])} entries.")
    first = document["changed"][0]
    notes = run.service.read(f"/api/modhub/{first['id']}/changelog")["notes"]
    require(all(note in notes for note in first["changelog"]), "an entry of the update check is not in the changelog.")


@follow_check("C-SYNC-17")
def an_update_check_says_whose_relations_changed(run: Run) -> None:
    """For those who sent ``relations``."""
    guid = run.code_mod["guid"]
    (step,) = [
        step for step in put_question(run, "plan", want=[guid]).expect_document()["steps"] if step["guid"] == guid
    ]
    require("relationsChanged" not in ask_for_updates(run, {"guid": guid}), "relationsChanged: none was sent.")
    same = ask_for_updates(run, {"guid": guid, "relations": step["relations"]})
    require_equal("relationsChanged of the same", [], same["relationsChanged"])
    other = ask_for_updates(run, {"guid": guid, "relations": "another"})
    require_equal("relationsChanged of another", [guid], other["relationsChanged"])
    require_equal("relations", [{"guid": guid, "relations": step["relations"]}], other["relations"])


@follow_check("C-SYNC-24")
def a_digest_has_64_hexadecimal_digits(run: Run) -> None:
    """Anything else is 400, in update checks, plans and locks."""
    for digest in ("", "0" * 63, "0" * 65, "x" * 64):
        entry = {"guid": UNKNOWN_GUID, "sha256": digest, "version": "1"}
        put_question(run, "updates", have=[entry]).expect_error(400)
        put_question(run, "plan", want=[], have=[entry]).expect_error(400)
        put_question(run, "plan/check", lock={"entries": [entry]}).expect_error(400)


@follow_check("C-SYNC-20", "C-HTTP-12")
def answers_to_questions_are_compressed_and_not_kept(run: Run) -> None:
    """``Vary``, no ``ETag``, ``no-store``."""
    guids = [mod["guid"] for mod in run.mods[:20]]
    for call, question in (
        ("lookup", {"guids": guids}),
        ("updates", {"have": [{"guid": guid} for guid in guids]}),
        ("plan", {"want": guids}),
    ):
        path = f"/api/modhub/{call}"
        plain = run.service.ask(path, question).expect(200).expect_named("Vary", "Accept-Encoding")
        packed = run.service.ask(path, question, {"Accept-Encoding": "gzip"}).expect(200)
        require_equal(f"ETag of {path}", "", plain.header("ETag"))
        require("no-store" in plain.names("Cache-Control"), f"{path}: may be kept: {plain.header('Cache-Control')!r}.")
        if len(plain.body) > 1000:
            packed.expect_header("Content-Encoding", "gzip")
            require_equal(f"the content of {path} in gzip", plain.body, packed.unzipped())


@follow_check("C-ERR-10")
def a_body_that_is_no_json_object_is_400(run: Run) -> None:
    """Not JSON, not an object, not UTF-8, nested too deeply."""
    for body in (
        b"",
        b"{",
        b"[]",
        b'"text"',
        b"1",
        b"null",
        b'{"guids": ["\xff"]}',
        b'{"guids": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    ):
        reply = run.service.call("POST", "/api/modhub/lookup", body=body, headers=JSON_TYPE, repeatable=True)
        require(reply.status == 400, f"{reply.call} with {body[:40]!r}: expected 400, came {reply.status}.")
        reply.document()


@follow_check("C-ERR-11")
def a_field_of_the_wrong_type_is_named(run: Run) -> None:
    for call, question, field in (
        ("lookup", {"guids": 1}, "guids"),
        ("updates", {"have": {}}, "have"),
        ("plan", {"want": "x"}, "want"),
    ):
        message = put_question(run, call, **question).expect_error(400)["message"]
        require(re.search(rf"\b{field}\b", message), f"the sentence {message!r} does not name {field}.")


@follow_check("C-ERR-13", "C-ERR-14")
def unknown_and_doubled_fields_and_types_are_no_error(run: Run) -> None:
    """Unknown ones are ignored, the last value of a doubled one counts, null is as not sent; so is any type."""
    for call, body, media_type in (
        ("lookup", b'{"guids": [], "unheard-of": {"a": [1]}}', "application/json"),
        ("lookup", b'{"guids": ["no-guid"], "guids": []}', "text/plain"),
        ("plan", b'{"want": [], "have": null, "because": null}', "nonsense"),
        ("lookup", b'{"guids": []}', ""),
    ):
        headers = {"Content-Type": media_type} if media_type else {}
        run.service.call("POST", f"/api/modhub/{call}", body=body, headers=headers, repeatable=True).expect(200)
