"""Descriptions written as plain text, Markdown or HTML."""

import time

import pytest

from modhub.catalogue.documents import RemovedDocument
from modhub.catalogue.models import DescriptionSource
from modhub.catalogue.owning.texts import find_removed_markup, render_markdown, write_text
from modhub.content import limits
from modhub.content.markup import clean
from modhub_testing.mods import OWNER, mod_address, new_mod, upload_asset
from modhub_testing.pages import form_at, make_mod_by_form, new_visitor, workshop_form
from tests.owning import delete_mod, edit_mod, own_mods, save_details, write_note

MARKDOWN = "# Laps\n\nCounts **laps**.\n\n- one\n- two\n\n| a | b |\n|---|--:|\n| 1 | 2 |"
LINK = '<a href="https://e.org" rel="nofollow noopener ugc">'


@pytest.mark.parametrize(
    ("submitted", "chosen", "stored"),
    [
        ("One\nline\n\n  \nTwo & three", "", "<p>One<br>line</p><p>Two &amp; three</p>"),
        ("<p>One</p>\n\n<p>Two</p>", "", "<p>One</p>\n\n<p>Two</p>"),
        ("a < b", "text", "<p>a &lt; b</p>"),
        ("One\n\nTwo", "html", "One\n\nTwo"),
        ("One", "", "One"),
        ("a < b", "", "<p>a &lt; b</p>"),
        ("Fixes &amp; changes", "", "Fixes &amp; changes"),
        ("&copy; A & B", "", "© A &amp; B"),
        (
            "## Features\n\n- **one**\n- two",
            "",
            "<h3>Features</h3>\n<ul>\n<li><strong>one</strong></li>\n<li>two</li>\n</ul>",
        ),
        ("It is **new**", "", "<p>It is <strong>new</strong></p>"),
        ("- a dash\nand a line", "", "<p>- a dash<br>and a line</p>"),
        ("2 ** 3 ** 4\n#hash", "", "<p>2 ** 3 ** 4<br>#hash</p>"),
        ("a <b>tag</b> and **stars**", "", "a <b>tag</b> and **stars**"),
        ("a < b\nc > d", "", "<p>a &lt; b<br>c &gt; d</p>"),
        ("Press <Tab> to open.\nSecond line", "", "<p>Press &lt;Tab&gt; to open.<br>Second line</p>"),
        ("One <br> two", "", "One <br> two"),
        ("# HUD <img alt='x' src='https://e.org/x.png'>", "", "<h2>HUD x</h2>"),
        ("[a](https://e.org) <b>c</b>", "", f"<p>{LINK}a</a> <b>c</b></p>"),
        (
            "# HUD\n\n1. Unzip into `<game folder>/mods`\n2. Start\n\nPress <kbd>F1</kbd>",
            "",
            "<h2>HUD</h2>\n<ol>\n<li>Unzip into <code>&lt;game folder&gt;/mods</code></li>\n<li>Start</li>\n</ol>\n"
            "<p>Press <kbd>F1</kbd></p>",
        ),
        ("- fixed `<br>`", "", "<ul>\n<li>fixed <code>&lt;br&gt;</code></li>\n</ul>"),
        ("~~~xml\n<mod/>\n<b>x</b>\n~~~", "", "<pre><code>&lt;mod/&gt;\n&lt;b&gt;x&lt;/b&gt;\n</code></pre>"),
        ("**a** <b>c</b> [d](https://e.org)", "", f"<p><strong>a</strong> <b>c</b> {LINK}d</a></p>"),
        ("<pre># no heading\n# **or** `two`</pre>", "", "<pre># no heading\n# **or** `two`</pre>"),
        ("", "text", ""),
        ("# A\n##### B", "markdown", "<h2>A</h2>\n<h4>B</h4>"),
        ("![i](https://e.org/i.png)[j](javascript:x)", "markdown", "<p>i [j](javascript:x)</p>"),
        ("a <script>x</script>b", "markdown", "<p>a b</p>"),
        ("![i](/Modhub/file/5)", "markdown", '<p><img src="/Modhub/file/5" alt="i"></p>'),
    ],
)
def test_what_is_typed_becomes_html(submitted, chosen, stored):
    # C-PAGE-16
    written = write_text(submitted, chosen, limits.DESCRIPTION)
    assert clean(written.uncleaned, limits.DESCRIPTION) == stored


def source_of(site, mod):
    here = f"/Modhub/mine/{mod['id']}"
    form = workshop_form(new_visitor(site, OWNER), here)
    return form["description"].value.strip(), form["format"].value


def test_a_source_is_kept_for_the_next_edit(site, author):
    # C-PAGE-16
    page = make_mod_by_form(author, title="A", description=MARKDOWN, format="markdown")
    mod = {"id": int(page.request.path.rpartition("/")[2])}
    assert source_of(site, mod) == (MARKDOWN, "markdown")
    # Of another description it is not shown: the API changes that without its source.
    with site.databases.write_session.begin() as session:
        source = session.get_one(DescriptionSource, mod["id"])
        kept, source.sha256 = source.sha256, "0" * 64
    assert source_of(site, mod)[0].startswith("<h2>Laps</h2>")
    with site.databases.write_session.begin() as session:
        session.get_one(DescriptionSource, mod["id"]).sha256 = kept
    (stored,) = own_mods(site)
    assert "<strong>laps</strong>" in stored["description"]
    assert "<td>2</td>" in stored["description"]
    save_details(site, mod, description="One\n\nTwo", format="")
    assert source_of(site, mod) == ("One\n\nTwo", "")
    # The other fields by the API: the source stays. The description by the API: it is HTML again.
    edit_mod(site, mod, title="B", description="<p>One</p><p>Two</p>")
    assert source_of(site, mod) == ("One\n\nTwo", "")
    edit_mod(site, mod, description="<p>By the API</p>")
    assert source_of(site, mod) == ("<p>By the API</p>", "")
    assert site.count_rows(DescriptionSource) == 0


@pytest.mark.parametrize("stored", ["Laps &amp; times\nin &lt;b&gt;", "It is **new** &amp; fast"])
def test_html_without_a_tag_stays_as_it_is_when_another_field_is_saved(site, author, stored):
    # C-PAGE-16: by the API a description is HTML, also if it has no tag.
    mod = new_mod(site, description=stored)
    upload_asset(site, mod, "code", version="1")
    (note,) = site.as_account(OWNER).get(mod_address(mod, "notes")).json["notes"]
    write_note(site, mod, note["id"], stored)
    save_details(site, mod, title="Another title")
    form = workshop_form(author, f"/Modhub/mine/{mod['id']}/changelog/{note['id']}")
    form["title"] = "Another title"
    form.submit(status=303)
    (described,) = own_mods(site)
    (told,) = site.as_account(OWNER).get(mod_address(mod, "notes")).json["notes"]
    assert (described["title"], described["description"]) == ("Another title", stored)
    assert (told["title"], told["text"]) == ("Another title", stored)


def test_what_was_typed_survives_an_error_with_its_format(site):
    # C-PAGE-16
    mod = new_mod(site)
    page = save_details(site, mod, 400, title="", description=MARKDOWN, format="markdown")
    again = form_at(page, f"/Modhub/mine/{mod['id']}")
    assert (again["description"].value.strip(), again["format"].value) == (MARKDOWN, "markdown")
    # Markdown may be longer than what is made of it.
    again["title"], again["description"] = "Now", "Hi\n\n" + "[a]: https://e.org/a\n" * 600
    assert again.submit(status=303).follow().html.select_one(".note.good")["data-cut"] == "description"
    assert site.count_rows(DescriptionSource) == 1
    delete_mod(site, mod)
    assert site.count_rows(DescriptionSource) == 0


def test_the_preview_lists_what_is_removed():
    # C-PAGE-16
    submitted = '<p class="x" style="y">a<img src="https://e.org/a.png"><img src="/Modhub/file/1" onload="z"><form a=b>'
    cleaned = clean(submitted, limits.DESCRIPTION)
    assert find_removed_markup(submitted, cleaned) == RemovedDocument(["img", "form"], ["class", "style", "onload"])
    assert find_removed_markup(cleaned, cleaned) == RemovedDocument([], [])


def test_a_preview_says_what_is_lost(site):
    # C-OWN-41; of the changelog, and what is removed: modhub-verify.
    mod = new_mod(site)
    for length, trimmed in ((limits.DESCRIPTION + 1, True), (limits.DESCRIPTION - 10, False)):
        sent = {"text": "a" * length, "format": "text"}
        assert site.as_account(OWNER).post_json(mod_address(mod, "preview"), sent).json["trimmed"] is trimmed


HOSTILE = {
    "columns": "|" + "a|" * 500 + "\n|" + "-|" * 500 + "\n" + "|\n" * 3000,
    "brackets": "[" * 8000,
    "links": "[a](" * 2000,
    "asterisks": "*a_ " * 2000,
    "quotes": ">" * 8000,
    "lists": "* a\n" * 2000,
    "references": "[a]: http://e.org/" + "u" * 2000 + "\n" + "[a]" * 1900,
    "open tags": "<a " * 2600,
    "ticks": "".join("`" * count + "a" for count in range(1, 130)),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.slow
def test_hostile_markdown_takes_bounded_time(name):
    # T-A3, C-PAGE-16: the bound is ten times what the slowest of them takes on a busy machine.
    begun = time.process_time()
    written = write_text(HOSTILE[name], "markdown", limits.DESCRIPTION)
    clean(written.html or "", limits.DESCRIPTION)
    assert time.process_time() - begun < 5
    assert len(written.html or "") < 400 * limits.DESCRIPTION


def test_markdown_that_takes_too_much_work_is_shown_as_text():
    assert render_markdown(HOSTILE["columns"]) is None
    written = write_text(HOSTILE["columns"], "markdown", limits.DESCRIPTION)
    assert (written.html or "").startswith("<p>|a|a|")
    assert render_markdown("Plain *text* with [a link](https://e.org) and more. " * 150) is not None
