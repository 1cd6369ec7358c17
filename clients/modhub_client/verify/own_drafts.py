"""Part ``own``: creating and editing a draft, field by field; what is refused, and how text and HTML are cleaned."""

import html
import re
from typing import Any
from uuid import uuid4

from modhub_client.verify.checks import own_check
from modhub_client.verify.own_mod import mod_of
from modhub_client.verify.owner import owner_of
from modhub_client.verify.replies import Reply, require, require_equal
from modhub_client.verify.run import Run
from modhub_client.verify.shapes import MOD, described_answer, require_shape


@own_check("C-OWN-1", "C-MOD-1")
def _a_new_mod_is_a_draft_of_its_account(run: Run) -> None:
    """It is in the account's list at once; creation, edit and list answer the whole mod."""
    mod = mod_of(run)
    draft = mod.draft
    require(mod.created and mod.created.status == 201, "POST /api/modhub: expected 201.")
    require_equal("published of a new mod", False, draft.get("published"))
    listed = mod.now()
    require(listed, "GET /api/modhub/mine: the mod that was just created is missing.")
    for answered in (draft, mod.edited({}), listed):
        require_shape("a mod", MOD, answered)
        require_equal("url", f"/Modhub/{mod.id}", answered["url"])


@own_check("C-OWN-2")
def _an_edit_changes_only_what_is_sent(run: Run) -> None:
    """``null`` and a field that is missing change nothing."""
    mod = mod_of(run)
    before = mod.edited({"description": "<p>kept</p>", "games": ["Kept"], "requires": [str(uuid4())]})
    nulls = dict.fromkeys(("title", "description", "games", "requires", "conflictsWith"))
    after = mod.edited(nulls)
    for name in nulls:
        require_equal(f"{name} after an edit with null", before[name], after[name])
    after = mod.edited({"conflictsWith": [str(uuid4())]})
    for name in ("title", "description", "games", "requires"):
        require_equal(f"{name} after an edit without it", before[name], after[name])


@own_check("C-OWN-2")
def _a_list_replaces_the_stored_one_and_an_empty_one_clears_it(run: Run) -> None:
    """Games, requirements and conflicts."""
    mod = mod_of(run)
    guids = str(uuid4()), str(uuid4())
    for name, (first, second) in (("requires", guids), ("conflictsWith", guids), ("games", ("One", "Two"))):
        mod.edited({"requires": [], "conflictsWith": [], "games": []})
        mod.edited({name: [first]})
        require_equal(name, [second], mod.edited({name: [second]})[name])
        require_equal(f"{name} after an empty list", [], mod.edited({name: []})[name])


@own_check("C-OWN-4", "C-ERR-10")
def _bad_lists_are_refused(run: Run) -> None:
    """No GUID, the mod's own, one in both lists in another case, 51; games that are no strings, and no lists."""
    mod = mod_of(run)
    guid = str(uuid4())
    wrong: list[dict[str, Any]] = [
        {"requires": ["no guid"]},
        {"requires": [guid[:-1]]},
        {"conflictsWith": [mod.guid]},
        {"requires": [mod.guid.upper()]},
        {"requires": [guid], "conflictsWith": [guid.upper()]},
        {"requires": [str(uuid4()) for _ in range(51)]},
        {"requires": {}},
        {"games": "Portal"},
        {"games": [1]},
        {"games": [None]},
    ]
    for fields in wrong:
        body = mod.edit(fields).expect_error(400)
        require(body.get("message"), f"PUT of {fields}: the refusal has no sentence.")


@own_check("C-OWN-4")
def _both_lists_are_checked_together_and_a_refusal_changes_neither(run: Run) -> None:
    """Also when one alone is sent."""
    mod = mod_of(run)
    guid, other = str(uuid4()), str(uuid4())
    mod.edited({"requires": [guid], "conflictsWith": []})
    mod.edit({"conflictsWith": [guid]}).expect_error(400)
    mod.edit({"requires": [other], "conflictsWith": ["no guid"]}).expect_error(400)
    now = mod.now()
    require_equal("requires after refusals", [guid], now["requires"])
    require_equal("conflictsWith after refusals", [], now["conflictsWith"])


@own_check("C-OWN-1")
def _a_refused_creation_creates_nothing(run: Run) -> None:
    """The account's list has no such mod."""
    owner = owner_of(run)
    title = f"{owner.mark} refused"
    guid = str(uuid4())
    for fields in ({"requires": ["no guid"]}, {"requires": [guid], "conflictsWith": [guid]}, {"games": [1]}):
        owner.create({"title": title, **fields}).expect_error(400)
    created = [mod["id"] for mod in owner.mine() if mod["title"] == title]
    require_equal("mods that refused calls created", [], created)


@own_check("C-OWN-2", "C-MOD-2", "C-UP-5")
def _what_the_service_sets_cannot_be_edited(run: Run) -> None:
    """Version, state, ids, owner and times stay."""
    mod = mod_of(run)
    before = mod.now()
    sent = {
        "version": "9",
        "published": True,
        "id": 1,
        "guid": str(uuid4()),
        "owner": 1,
        "createdAt": "2001-01-01T00:00:00.000000Z",
        "updatedAt": "2001-01-01T00:00:00.000000Z",
    }
    for name, value in sent.items():
        mod.edit({name: value})
        require_equal(f"{name} after an edit that sent it", before.get(name), mod.now().get(name))


@own_check("C-OWN-10")
def _the_list_of_own_mods_has_the_last_changed_first(run: Run) -> None:
    mod = mod_of(run)
    _ = mod.draft, mod.other
    mod.edited({"description": f"<p>{uuid4()}</p>"})
    body = mod.owner.call("GET", "/api/modhub/mine").expect_document()
    require_equal("count of the list of own mods", len(body["mods"]), body["count"])
    times = [entry["updatedAt"] for entry in body["mods"]]
    require_equal("times of change in the list of own mods", sorted(times, reverse=True), times)
    require({mod.id, mod.other["id"]} <= {entry["id"] for entry in body["mods"]}, "The list of own mods misses one.")


@own_check("C-OWN-30")
def _an_edit_of_another_state_is_refused(run: Run) -> None:
    """``If-Match`` with an older time of change; bad input is told first."""
    mod = mod_of(run)
    stale = mod.now()["updatedAt"]
    fresh = mod.edited({"description": f"<p>{uuid4()}</p>"})["updatedAt"]
    mod.edit({"description": "<p>lost</p>"}, **{"If-Match": f'"{stale}"'}).expect_error(412, "changed")
    require("lost" not in mod.now()["description"], "An edit that was answered 412 changed the mod.")
    mod.edit({"description": "<p>first</p>"}, **{"If-Match": f'"{fresh}"'}).expect(200)
    mod.edit({"description": "<p>any</p>"}, **{"If-Match": "*"}).expect(200)
    mod.edit({"requires": ["no guid"]}, **{"If-Match": f'"{stale}"'}).expect_error(400)


@own_check("C-OWN-31")
def _a_creation_that_is_repeated_creates_one_mod(run: Run) -> None:
    """And 401 once that mod is deleted. A refusal keeps no key: it works for the next call."""
    owner = owner_of(run)
    key, title = uuid4().hex, f"{owner.mark} once"
    owner.create({"requires": ["no guid"]}, key).expect_error(400)
    first = owner.create({"title": title}, key).expect_document(201)
    again = owner.create({"title": title}, key).expect_document(201)
    require_equal("the mod of a repeated creation", first["id"], again["id"])
    owner.create({"title": f"{title} more"}, key).expect_error(409, "idempotency_key_used")
    owner.create({"title": title}, "x" * 256).expect_error(400)
    created = [mod["id"] for mod in owner.mine() if mod["title"].startswith(title)]
    require_equal("mods of a repeated creation", [first["id"]], created)
    owner.remove(first["id"]).expect(204)
    owner.create({"title": title}, key).expect(401)


@own_check("C-MOD-3")
def _a_title_is_required_and_cut(run: Run) -> None:
    mod = mod_of(run)
    for fields in ({"title": None}, {"title": ""}, {"title": " \t "}, {"title": 7}):
        mod.owner.create(fields).expect_error(400)
    long = f"{mod.owner.mark} ".ljust(121, "ä")
    require_equal("a title of 121 characters", long[:120], mod.edited({"title": long})["title"])
    mod.edit({"title": ""}).expect_error(400)


@own_check("C-MOD-4", "C-TXT-1")
def _a_description_is_cut(run: Run) -> None:
    """At 8000 characters, and not refused."""
    cut = mod_of(run).edited({"description": "ä" * 8001})["description"]
    require(0 < len(cut) <= 8000, f"A description of 8001 characters: expected at most 8000, came {len(cut)}.")
    require_equal("the text of a long description", 8000, cut.count("ä"))


@own_check("C-MOD-6")
def _games_are_cleaned(run: Run) -> None:
    """Spaces, capitals, empty names, 121 characters, 21 games."""
    mod = mod_of(run)
    sent = [" Portal ", "PORTAL", "", "  ", "Portal 2", "Pórtal", "x" * 121]
    expected = ["Portal", "Portal 2", "Pórtal", "x" * 120]
    require_equal("games", expected, mod.edited({"games": sent})["games"])
    many = [f"Game {number}" for number in range(21)]
    require_equal("21 games", many[:20], mod.edited({"games": many})["games"])


@own_check("C-MOD-8")
def _a_guid_is_kept_as_sent_and_compared_without_case(run: Run) -> None:
    """Fifty mods that are not here may be named in each list; doubles do not count."""
    mod = mod_of(run)
    mixed, other = "ABCDEF00-1111-4222-8333-44445555aaaa", str(uuid4())
    doubled = [mixed, other, mixed.lower(), mixed.upper()] + [str(uuid4()) for _ in range(48)]
    conflicting = [str(uuid4()) for _ in range(50)]
    kept = mod.edited({"requires": doubled, "conflictsWith": conflicting})
    require_equal("requires with doubles", [mixed, other, *doubled[4:]], kept["requires"])
    require_equal("conflictsWith", conflicting, kept["conflictsWith"])


@own_check("C-MOD-13")
def _the_time_of_change_moves_with_changes_only(run: Run) -> None:
    """Not with an edit of equal fields."""
    mod = mod_of(run)
    before = mod.edited({"description": f"<p>{uuid4()}</p>"})
    same = mod.edited({"description": before["description"], "title": before["title"]})
    require_equal("updatedAt after an edit that changes nothing", before["updatedAt"], same["updatedAt"])
    later = mod.edited({"description": f"<p>{uuid4()}</p>"})
    require(later["updatedAt"] > same["updatedAt"], "updatedAt does not move with an edit.")


@own_check("C-ERR-10")
def _a_body_that_cannot_be_read_is_refused_with_the_name_of_the_field(run: Run) -> None:
    """No JSON, no object, no UTF-8, nested too deeply, wrong types."""
    mod = mod_of(run)
    nested = b'{"games": ' + b"[" * 5000 + b"]" * 5000 + b"}"
    for body in (b"", b"{", b"[]", b'"text"', b"1", b"null", b'{"title": "\xff"}', nested):
        _put(run, body).expect_error(400)
    wrong: dict[str, Any] = {"title": 7, "description": [], "requires": "x", "conflictsWith": 1}
    for name, value in wrong.items():
        message = str(mod.edit({name: value}).expect_error(400).get("message"))
        require(name in message, f"The refusal of a wrong {name} does not name it: {message}")


@own_check("C-ERR-13")
def _unknown_fields_and_media_types_are_tolerated(run: Run) -> None:
    """And of a doubled key the last value counts."""
    mod = mod_of(run)
    mod.edited({"colour": "red"})
    doubled = _put(run, b'{"description": "<p>first</p>", "description": "<p>last</p>"}').expect_document()
    require_equal("the description of a doubled key", "<p>last</p>", doubled["description"])
    _put(run, b'{"description": "<p>typed</p>"}', "text/plain").expect(200)
    mod.call("PUT", body=b'{"description": "<p>untyped</p>"}').expect(200)


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
        require(reply.status in {400, 401, 404}, f"{reply.call}: came {reply.status} {reply.error}.")


def _put(run: Run, body: bytes, media_type: str = "application/json") -> Reply:
    mod = mod_of(run)
    _ = mod.draft
    return mod.call("PUT", body=body, headers={"Content-Type": media_type})


ALLOWED = (
    *("p", "h2", "h3", "h4", "strong", "b", "em", "i", "u", "s", "del", "ins", "sub", "sup", "small", "blockquote"),
    *("ul", "ol", "dl", "code", "pre", "kbd", "samp", "table", "a", "span"),
)
INSIDE = {
    "ul": "<ul><li>{}</li></ul>",
    "ol": "<ol><li>{}</li></ol>",
    "dl": "<dl><dt>{0}</dt><dd>{0}</dd></dl>",
    "table": "<table><thead><tr><th>{0}</th></tr></thead><tbody><tr><td>{0}</td></tr></tbody></table>",
}


def stored(run: Run, text: str) -> str:
    """What the service keeps of this description."""
    description: str = mod_of(run).edited({"description": text})["description"]
    return description


@own_check("C-TXT-1")
def _text_of_owners_is_normalised_and_stripped(run: Run) -> None:
    """NFC, without control characters and outer spaces; single lines without breaks and overrides."""
    mod = mod_of(run)
    mark = mod.owner.mark
    for sent, kept in (("e\u0301\u0007\u0000 end \n", "é end"), ("a\nb\tc \u202edefg\u2066", "a b c defg")):
        title = mod.edited({"title": f"  {mark} {sent}"})["title"]
        require_equal(f"the title {sent!r}", f"{mark} {kept}", title)


@own_check("C-TXT-8")
def _cleaned_html_is_well_formed_short_and_lasting(run: Run) -> None:
    """Open tags that are cut, what is stored sent again, and what comes after 8000 characters of unknown tags."""
    once = stored(run, "<p><strong>open " + "<em>x</em> " * 1200)
    require(len(once) <= 8000, f"A long description: expected at most 8000 characters, came {len(once)}.")
    for tag in ("p", "strong", "em"):
        require_equal(f"<{tag}> that is closed", once.count(f"<{tag}>"), once.count(f"</{tag}>"))
    require_equal("a description that is sent again", once, stored(run, once))
    # Tags that cleaning removes count where it is cut.
    late = stored(run, "<p>early</p>" + "<blink></blink>" * 600 + "<p>late</p>")
    require("early" in late and "late" not in late, f"A text is cleaned before it is cut: {late}")


@own_check("C-TXT-9")
def _allowed_tags_stay(run: Run) -> None:
    """All of the allowlist, where browsers allow them."""
    for tag in ALLOWED:
        sent = INSIDE.get(tag, f"<{tag}>{{}}</{tag}>").format("text")
        kept = stored(run, sent)
        for name in re.findall(r"<([a-z0-9]+)", sent):
            require(f"<{name}" in kept, f"<{name}> is not kept: sent {sent}, stored {kept}.")
    kept = stored(run, "<p>a<br>b</p><hr>")
    require("<br" in kept and "<hr" in kept, f"<br> and <hr> are not kept: {kept}")


@own_check("C-TXT-10")
def _only_allowed_attributes_stay(run: Run) -> None:
    """Of links, images and cells; no other schemes, no pictures from elsewhere."""
    kept = stored(
        run,
        '<p onclick="x()" style="color:red" class="c" id="i"><a href="javascript:x()" title="t">1</a>'
        '<a href="https://example.org/">2</a><a href="mailto:a@example.org">3</a></p>'
        '<img src="https://example.org/x.png" alt="far"><img src="/Modhub/file/1" alt="near" width="2" onerror="x()">'
        '<table><tbody><tr><td colspan="2" bgcolor="red">x</td></tr></tbody></table>',
    )
    for gone in ("onclick", "style=", "class=", "id=", "javascript:", "example.org/x.png", "onerror", "bgcolor"):
        require(gone not in kept, f"{gone} is kept: {kept}")
    for stays in ('href="https://example.org/"', "mailto:a@example.org", 'src="/Modhub/file/1"', "width", "colspan"):
        require(stays in kept, f"{stays} is not kept: {kept}")


@own_check("C-TXT-10")
def _every_link_of_an_owner_is_marked(run: Run) -> None:
    """Whatever ``rel`` was sent."""
    kept = stored(run, '<p><a href="https://example.org/" rel="follow">x</a></p>')
    require_equal("rel of a link", ["nofollow noopener ugc"], re.findall(r'rel="([^"]*)"', kept))


@own_check("C-TXT-12")
def _scripts_go_with_their_content_and_other_tags_alone(run: Run) -> None:
    """The text of unknown tags stays."""
    kept = stored(run, "<p>a<script>evil()</script><style>p{}</style><blink>b</blink><form>c</form></p>")
    for gone in ("evil", "script", "style", "p{}", "blink", "form"):
        require(gone not in kept, f"{gone} is kept: {kept}")
    require_equal("the text that stays", "abc", html.unescape(re.sub(r"<[^>]*>", "", kept)))
    kept = stored(
        run,
        '<h1>top</h1><div>one</div><div>two</div><h2></h2><p><img src="https://example.org/x.png" alt="far"></p>'
        '<a href="https://example.org/"><svg></svg></a>',
    )
    require_equal("a heading, two blocks and an image", ["top", "one", "two", "far"], re.findall(r"[^<>]+(?=<)", kept))
    for stays, gone in (("<h2>top</h2>", "<h2></h2>"), ("<br>", "<a ")):
        require(stays in kept and gone not in kept, f"{stays} is not kept, or {gone} is: {kept}")


@own_check("C-OWN-41", added=True)
def _a_preview_is_what_is_stored(run: Run) -> None:
    mod = mod_of(run)
    before = mod.edited({"description": "<p>before</p>"})
    sent = {"text": "<p onclick='x()'>new <blink>text</blink></p>", "format": "html", "field": "description"}
    answer = described_answer(run, "POST /api/modhub/{id}/preview", mod.call("POST", "/preview", sent))
    require_equal("the tags that a preview removes", ["blink"], answer["removed"]["tags"])
    require_equal("the attributes that a preview removes", ["onclick"], answer["removed"]["attributes"])
    require_equal("the mod after a preview", before, mod.now())
    require_equal("a preview and what is stored", answer["html"], stored(run, sent["text"]))
    long = mod.call("POST", "/preview", {"text": "x" * 4001, "field": "changelog"}).document()
    require_equal("trimmed of a long text", True, long.get("trimmed"))
    mod.call("POST", "/preview", {"text": "x", "format": "pdf"}).expect_error(400)
