"""Markdown to HTML: CommonMark, headings, links, images, code, hostile text."""

import re
import time
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modhub.content.markup import clean
from modhub_wiki import limits
from modhub_wiki.highlighting import LANGUAGES, Highlighter
from modhub_wiki.links import resolve
from modhub_wiki.rendering import AS_TEXT, WIKI, HeadingIds, render, slug
from modhub_wiki.services import draft_page

VOID = {"br", "hr", "img"}


def check_page(html):
    """What is stored is a fixed point of the cleaner, with one title and no id twice."""
    assert clean(html, 10**7, allow=WIKI) == html
    assert html.count("<h1") == 1
    ids = re.findall(r'<[^>]* id="([^"]*)"', html)
    assert len(ids) == len(set(ids))


def body(text, path="a/b"):
    return render(text, path, "T").html.partition("</h1>")[2].strip()


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("*a* **b** `c<d>` \\*", "<p><em>a</em> <strong>b</strong> <code>c&lt;d&gt;</code> *</p>"),
        ("3. a", '<ol start="3">\n<li>a</li>\n</ol>'),
        ("a <b>c</b> <!-- d -->", "<p>a &lt;b&gt;c&lt;/b&gt;</p>"),
        ("- a\n<!--\n\nno\n-->\n- b <!-- c", "<ul>\n<li>a</li>\n<li>b &lt;!-- c</li>\n</ul>"),
        ("`<!-- a -->` <!-- b -->", "<p><code>&lt;!-- a --&gt;</code></p>"),
        ("~~~\n<!-- a -->\n~~~", '<pre class="code" tabindex="0"><code>&lt;!-- a --&gt;\n</code></pre>'),
        ("    code <b>", '<pre class="code" tabindex="0"><code>code &lt;b&gt;\n</code></pre>'),
        ("```\n\nx\n```", '<pre class="code" tabindex="0"><code>\nx\n</code></pre>'),
    ],
)
def test_commonmark(text, html):
    assert body(text) == html


def test_tables_keep_their_alignment_without_inline_style():
    html = body("| a | b | c | d |\n|:--|:-:|--:|---|\n| 1 | `x` | 2 | 3 |\n")
    assert html.startswith('<div class="scroll" tabindex="0"><table>')
    assert re.findall(r"<th(?: [^>]*)?>", html) == [
        '<th class="left">',
        '<th class="center">',
        '<th class="right">',
        "<th>",
    ]
    assert "style" not in html


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("1.4.0 — Ünïcode", "1-4-0-ünïcode"),
        ("\u0041\u030angström", "ångström"),
        ("!!!", "section"),
        ('" onclick=x', "onclick-x"),
    ],
)
def test_ids_of_headings(heading, name):
    # C-WIKI-8
    assert slug(heading) == name


def test_repeated_ids_are_numbered_and_stay_unique():
    # C-WIKI-8
    ids = HeadingIds()
    assigned = [ids.assign(base) for base in ("a", "a", "a-2", "a", "b", "a-2")]
    assert assigned == ["a", "a-2", "a-2-2", "a-3", "b", "a-2-3"]


def test_headings_have_ids_anchors_and_a_table_of_contents():
    page = render("# Top\n\n## One *x*\n\n### `Two`\n\n## One x\n\n> # Quoted\n", "p")
    assert [(entry.level, entry.id, entry.text) for entry in page.contents] == [
        (2, "one-x", "One x"),
        (3, "two", "Two"),
        (2, "one-x-2", "One x"),
        (2, "quoted", "Quoted"),
    ]
    assert '<h2 id="one-x">One <em>x</em><a class="anchor" href="#one-x" aria-hidden="true"' in page.html
    check_page(page.html)


def test_exactly_one_title_whatever_the_text():
    same = render("# Title\n\n## Below\n", "p")
    assert same.html.startswith('<h1 id="title">Title')
    assert '<h2 id="below">' in same.html
    other = render("# Title\n\n## Below\n", "p", "Another & <more>")
    assert other.html.startswith("<h1>Another &amp; &lt;more&gt;</h1>")
    assert '<h2 id="title">' in other.html
    assert '<h3 id="below">' in other.html
    without = render("## Begins lower\n\n###### six\n", "p")
    assert without.html.startswith("<h1>Begins lower</h1>")
    assert '<h2 id="begins-lower">' in without.html
    deep = render("# A\n\n# B\n\n###### six\n", "p")
    assert '<h3 id="six">' in deep.html
    begun_low = render("#### Low\n\n## Higher\n\n#### Low again\n", "p", "T")
    assert [entry.level for entry in begun_low.contents] == [2, 2, 3]
    for page in (same, other, without, deep):
        check_page(page.html)


@pytest.mark.parametrize(
    ("href", "page", "target"),
    [
        ("other", "guide/a", "/Modhub/Wiki/guide/other"),
        ("./other#x", "guide/a", "/Modhub/Wiki/guide/other#x"),
        ("../../../../other", "guide/a", "/Modhub/Wiki/other"),
        ("..", "guide/a", "/Modhub/Wiki"),
        ("setup.md", "a", "/Modhub/Wiki/setup.md"),
        ("other/?q=1#y", "a", "/Modhub/Wiki/other#y"),
        ("%6Fther", "a", "/Modhub/Wiki/other"),
        ("#here", "a", "#here"),
        ("/Modhub?q=a&game=b#c", "a", "/Modhub?q=a&game=b#c"),
        ("https://example.org/x?y#z", "a", "https://example.org/x?y#z"),
        ("mailto:a@example.org", "a", "mailto:a@example.org"),
        ("//evil.example", "a", None),
        ("/\\evil.example", "a", None),
        ("JaVaScRiPt:alert(1)", "a", None),
        ("java\nscript:x", "a", None),
        ("ü", "a", None),
        ("x" * 201, "a", None),
    ],
)
def test_where_links_lead(href, page, target):
    assert resolve(href, page) == target


def test_a_link_that_leads_nowhere_keeps_its_text():
    assert body("[text](//evil.example) <ftp://x.example>") == "<p>text ftp://x.example</p>"


def test_pictures_of_our_own_are_shown_and_others_are_named():
    own = body('![two words](/Modhub/file/12 "title")')
    assert own == '<p><img src="/Modhub/file/12" alt="two words" title="title" loading="lazy"></p>'
    other = body("![alt](https://example.org/x.png) [![in](https://example.org/y.png)](page) ![](https://e.org/z)")
    assert "<img" not in other
    assert other.count("<a ") == 3
    assert '<a href="https://example.org/x.png" rel="noopener">alt</a>' in other
    assert '<a href="/Modhub/Wiki/a/page" rel="noopener">in</a>' in other
    assert "<img" not in body("![x](/Modhub/file/12/../x) ![x](/Modhub/file/٣) ![x](data:image/png;base64,AA)")


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_code_is_coloured_and_stays_itself(language):
    code = 'def f(x): # <b> & "s" \'t\'\n\n\treturn 1 < 2;\n--- a\n+++ b\n$ echo $(ls) `x` \u00e9 {"k": null}\n\n'
    html = Highlighter()(code, language)
    assert unescape(re.sub("<[^>]*>", "", html)) == code


def test_a_lexer_that_is_slow_is_left_after_its_time(monkeypatch):
    monkeypatch.setattr(limits, "CODE_SECONDS", 0.01)
    code = "int one;\n" * 7_000
    draw = Highlighter()
    html = draw(code, "cpp")
    assert re.sub("<[^>]*>", "", html) == code
    assert html.startswith('<span class="hl-k">int</span>')
    assert html.endswith("\nint one;\n")
    assert draw("int one;", "cpp") == "int one;"
    assert "hl-k" in Highlighter()("int one;", "cpp")


@pytest.mark.parametrize(
    ("language", "code"),
    [
        # Of each of these pygments takes minutes or hours, and most of it in a single match.
        ("cpp", "int one;" + "\n" * 16_000 + "int one;\n"),
        ("js", "a." * 30_000),
    ],
)
def test_code_that_is_slow_to_lex_is_not_highlighted(language, code):
    began = time.process_time()
    assert Highlighter()(code, language) == code
    assert time.process_time() - began < 2


def test_languages_are_named_in_a_fence(monkeypatch):
    assert '<span class="hl-k">def</span>' in body("```python\ndef f(): pass\n```")
    assert '<span class="hl-k">def</span>' in body("~~~ Python {lines=1}\ndef f(): pass\n~~~")
    assert "hl-" not in body("```nonsense\ndef f(): pass\n```")
    assert "hl-" not in body('```"><script>\ndef\n```')
    monkeypatch.setattr(limits, "MAX_CODE_BLOCK", 100)
    half = "x = 1\n" * 9
    twice = body(f"```python\n{half}```\n\n```python\n{half}```")
    assert (twice.count("<pre"), twice.count('class="hl-m"')) == (2, 9)


VECTORS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[a](javascript:alert(1))",
    "[a](&#x6A;avascript:alert(1))",
    "[a](<javascript:alert(1)>)",
    "[a](data:text/html;base64,PHNjcmlwdD4=)",
    "[a](/Modhub/Wiki/x%22onclick=alert(1))",
    '[a](/x "\\" onclick=\\"alert(1)")',
    '![a" onerror="alert(1)](/Modhub/file/1)',
    "![a](javascript:alert(1))",
    "<javascript:alert(1)>",
    "[a]: javascript:alert(1)\n\n[a]",
    "```\n</code></pre><script>alert(1)</script>\n```",
    '```html" onmouseover="alert(1)\n<b>\n```',
    "# </h1><script>alert(1)</script>",
    '# a" onclick="alert(1)',
    "| <script> | b |\n|---|---|\n| </td><script>alert(1)</script> | c |",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "<svg><script>alert(1)</script></svg>",
    "<![CDATA[<script>]]>",
    "<style>*{}</style><math><mi>",
    "<textarea><title><noscript><template>",
    "[x](https://a.example/`onclick=alert(1)`)",
    "*[<script>](javascript:1)*",
    "**a\u0338> b**\n\n<\u0338",
]


@pytest.mark.parametrize("vector", VECTORS)
@pytest.mark.parametrize("title", [None, "<script>alert(1)</script>"])
def test_nothing_is_live(vector, title):
    for text in (vector, f"> - {vector}", f"a\n{vector}\nb", f"| {vector} |\n|---|\n| {vector} |"):
        page = render(text, "guide/a", title)
        check_page(page.html)


@given(st.text(alphabet="[]()<>!*_`~#|-+.:&;/\\\"'ab1 \n\tjs=", max_size=80))
@settings(max_examples=150, deadline=None)
def test_any_text_gives_a_page(text):
    page = render(text, "a/b")
    check_page(page.html)
    assert page.title
    drafted = draft_page("a/b", text)
    assert drafted.folded.count("\n") == f"{page.title}\na/b\n{page.plain}".count("\n")


MEGABYTE = 1024 * 1024
BOMBS = {
    name: (piece * (MEGABYTE // len(piece) + 1))[:MEGABYTE]
    for name, piece in {
        "brackets": "[",
        "spaced quotes": "> ",
        "open emphasis": "*a_ ",
        "pictures": "![",
        "pointed links": "[a](<b",
        "references": "[x][",
        "ticks": "` `` ",
        "nested lists": "- ",
        "headings": "# a\n",
        "pipes": "|a",
        "table rows": "|a|b|\n|-|-|\n",
        "definitions": "[a]: /b\n",
        "accents": "a" + "\u0301" * 50,
        "fences": "```\n",
        "both kinds": "*_",
        "pictures in brackets": "[![",
        "nested quotes": "> " * 18 + "a\n\n",
        "links in stars": "[*a](b)*",
    }.items()
} | {
    "many brackets": "[" * 249_000,
    "wide table": "|a" * 2_000 + "|\n" + "|-" * 2_000 + "|\n" + ("|" * 2_000 + "\n") * 500,
    "cells that rows lack": "|a" * 20_000 + "|\n" + "|-" * 20_000 + "|\n" + "a\n" * 30_000,
    "different headings": "".join(f"# h{number}\n" for number in range(100_000)),
    "references": "".join(f"[r{number}]: /x\n" for number in range(80_000)),
    "deep list": "".join("  " * depth + "- a\n" for depth in range(1_000)),
    "long code": "```ini\n" + "a: " * 20_000 + "\n```",
}


@pytest.mark.timeout(280)
@pytest.mark.parametrize("name", sorted(BOMBS))
@pytest.mark.slow
@pytest.mark.long
def test_a_megabyte_of_anything_takes_bounded_time(name):
    text = BOMBS[name].encode()[:MEGABYTE].decode("utf-8", "ignore")
    began = time.thread_time()
    page = draft_page("bomb", text).rendered
    # Measured: at most about a second; before work was counted, up to nine. A busy machine takes four times as long.
    assert time.thread_time() - began < 7
    assert page.html.startswith("<h1")


@pytest.mark.parametrize(
    ("piece", "count"),
    [("**a *b* c** ", 12_000), ("![", 14_000)],
)
@pytest.mark.slow
@pytest.mark.long
def test_the_worst_that_is_still_rendered_takes_bounded_time(piece, count):
    began = time.thread_time()
    page = draft_page("p", piece * count).rendered
    assert time.thread_time() - began < 10
    assert AS_TEXT not in page.html
    twice = render(piece * count * 2, "p")
    assert AS_TEXT in twice.html
    assert twice.plain == piece * count * 2


def test_nesting_is_bounded():
    for text in ("> " * 5000 + "x", "- " * 5000 + "x", "*" * 5000 + "x" + "*" * 5000, "[" * 5000 + "x" + "](y)" * 5000):
        deepest = depth = 0
        for tag in re.findall(r"<(/?)([a-z][a-z0-9]*)", body(text)):
            depth += 0 if tag[1] in VOID else -1 if tag[0] else 1
            deepest = max(deepest, depth)
        assert deepest <= 64


def test_a_page_with_too_many_tokens_is_shown_as_text():
    page = render("# Title *x*\n\n" + "*a* & <b> " * 50_000, "p")
    assert page.title == "Title x"
    assert page.contents == []
    assert page.html.startswith(
        f'<h1>Title x</h1>\n<p>{AS_TEXT}</p>\n<pre class="code" tabindex="0"><code># Title *x*\n\n*a* &amp; &lt;b&gt;'
    )
    check_page(page.html)
    lines = render("\n".join(["a"] * (limits.MAX_WIKI_LINES + 2)), "p")
    assert (lines.title, "<pre" in lines.html) == ("p", True)
    long_code = "```\n" + "code without marks\n" * (limits.MAX_WIKI_LINES - 10) + "```"
    assert "<pre" in render(long_code, "p").html


@pytest.mark.parametrize(
    ("beginning", "title"),
    [
        ("My Title\n===\n\nWords\n\n## Later", "My Title"),
        ("#\n\n# **bold**\n\n## Later", "bold"),
    ],
)
def test_what_is_shown_as_text_has_its_first_heading_as_its_title(beginning, title):
    page = render(beginning + "\n" * (limits.MAX_WIKI_LINES + 1), "folder/page")
    assert page.title == title
    assert page.html.startswith(f"<h1>{title}</h1>\n<p>{AS_TEXT}</p>\n<pre")


@pytest.mark.slow
@pytest.mark.long
def test_a_megabyte_of_prose_is_rendered():
    prose = "Words of *some* weight, with `code`, a [link](other/page) and **more**; then the rest of it. "
    source = ("# Big\n\n" + f"## Part\n\n{prose * 6}\n\n" * 1_900)[: limits.TEXT]
    assert len(source) > 0.99 * limits.TEXT
    page = render(source, "p")
    assert page.html.count("<h2") > 1_700
    assert "<pre" not in page.html
