"""Part ``own``: how text and HTML of an owner are cleaned, tried on a draft that nobody sees."""

import html
import re

from modhub_client.verify.checks import own_check
from modhub_client.verify.own_mod import mod_of
from modhub_client.verify.replies import require, require_equal, require_keys
from modhub_client.verify.run import Run

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
    """NFC, without control characters and outer spaces."""
    mod = mod_of(run)
    mark = mod.owner.mark
    title = mod.edited({"title": f"  {mark} e\u0301\u0007\u0000 end \n"})["title"]
    require_equal("a title with a combining accent, control and outer characters", f"{mark} é end", title)


@own_check("C-TXT-2")
def _single_lines_have_no_breaks_and_no_overrides(run: Run) -> None:
    mod = mod_of(run)
    mark = mod.owner.mark
    title = mod.edited({"title": f"{mark} a\nb\tc \u202edefg\u2066"})["title"]
    require_equal("a title with breaks and bidirectional overrides", f"{mark} a b c defg", title)


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


@own_check("C-TXT-11")
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
    answer = mod.call("POST", "/preview", sent).expect_document()
    require_keys("a preview", answer, ("html", "trimmed", "removed"))
    require_equal("the tags that a preview removes", ["blink"], answer["removed"]["tags"])
    require_equal("the attributes that a preview removes", ["onclick"], answer["removed"]["attributes"])
    require_equal("the mod after a preview", before, mod.now())
    require_equal("a preview and what is stored", answer["html"], stored(run, sent["text"]))
    long = mod.call("POST", "/preview", {"text": "x" * 4001, "field": "changelog"}).document()
    require_equal("trimmed of a long text", True, long.get("trimmed"))
    mod.call("POST", "/preview", {"text": "x", "format": "pdf"}).expect_error(400)
