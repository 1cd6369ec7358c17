"""Publishing and reading over REST; at the older address a page is the same resource (C-WIKI-7)."""

from itertools import product

import pytest

from modhub.base.body_rules import BodyRules

pytestmark = pytest.mark.slow

NEW, OLD = "/Modhub/api/wiki", "/api/modhub/wiki"


def send(wiki, method, url, body=b"# A\n", key="wiki-key", **more):
    headers = {**({} if key is None else {"X-Api-Key": key}), **more.pop("headers", {})}
    more.setdefault("content_type", "text/markdown")
    return wiki._gen_request(method, url, params=body, headers=headers, expect_errors=True, **more)


def test_the_markdown_is_answered_as_it_was_sent(wiki):
    # C-WIKI-6: but for line ends, and what cannot be stored.
    body = "# Ünïcode\n\n    code at the start is kept\n\ntab\there, line end:  \n\n\n".encode()
    send(wiki, "PUT", f"{NEW}/a", body)
    read = wiki.get(f"{NEW}/a")
    assert read.body == body
    send(wiki, "PUT", f"{OLD}/a", body + b"more")
    wiki.get(f"{NEW}/a", headers={"If-None-Match": read.headers["ETag"]}, status=200)
    send(wiki, "PUT", f"{NEW}/a", b"\xef\xbb\xbf# A\r\nb\rc\x00\x1b[0m\n")
    assert wiki.get(f"{NEW}/a").body == b"# A\nb\nc[0m\n"


@pytest.mark.postgres
def test_a_deleted_page_is_gone_and_numbers_on(wiki):
    # C-WIKI-5
    send(wiki, "PUT", f"{NEW}/a")
    send(wiki, "PUT", f"{NEW}/a")
    send(wiki, "DELETE", f"{NEW}/a", b"")
    wiki.get(f"{NEW}/a", status=404)
    for address in ("", "?history", "?revision=1"):
        wiki.get(f"/Modhub/Wiki/a{address}", status=404)
    assert b"<entry>" not in wiki.get("/Modhub/wiki.atom").body
    again = send(wiki, "PUT", f"{NEW}/a")
    assert (again.status_int, again.json["revision"]) == (201, 3)
    wiki.get("/Modhub/Wiki/a?revision=1", status=200)


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_every_key_that_may_not_is_unknown(wiki, method):
    # C-WIKI-2
    send(wiki, "PUT", f"{NEW}/a")
    answers = []
    for path, body in product(("a", "never", "..", "x" * 201), (b"# good", b"", b"x" * (1024 * 1024 + 1))):
        url = f"{NEW}/{path}"
        assert send(wiki, method, url, body, key=None).json == {"error": "no_api_key"}
        wrong = ("app-key", "wiki-key Modhub:wiki", "", "address-key", "k\u00e9y")
        answers += [send(wiki, method, url, body, key=key.encode().decode("latin-1")) for key in wrong]
    assert {(answer.status_int, answer.body) for answer in answers} == {(401, b'{"error":"unknown_api_key"}')}
    assert wiki.get(NEW).json["pages"][0]["revision"] == 1


def test_an_empty_page_is_refused_and_a_megabyte_is_not(wiki):
    # C-WIKI-2; other bodies are refused by tests/core/test_payload.py
    answer = send(wiki, "PUT", f"{NEW}/a", b"\xef\xbb\xbf\x00")
    assert (answer.status_int, answer.json["error"]) == (400, "invalid_input")
    assert wiki.get(NEW).json["count"] == 0
    assert send(wiki, "PUT", f"{NEW}/a", b"word " * 209_715 + b"x").status_int == 201


def test_the_server_knows_the_limit_and_the_header(wiki):
    rules = wiki.find_service(BodyRules)
    for mount in (NEW, OLD):
        for method in ("PUT", "POST", "DELETE"):
            rule = rules.find(method, f"{mount}/deep/down/page")
            assert (rule.limit, rule.credential) == (1024 * 1024, "X-Api-Key")


TITLES = [
    ("# From *the* `heading`", "", "From the heading"),
    ("text\n\nSetext\n---\n\n# Later", "", "Setext"),
    ("no heading", "", "page.one"),
    ("# A", "title=From+the+query", "From the query"),
    ("# A", "title=" + "x" * 200, "x" * 120),
    ("# A", "title=a%0Ab%E2%80%AEc", "a bc"),
    ("```\n# no heading\n```", "", "page.one"),
    ("# ![alt](/Modhub/file/1) and [link](b)", "", "alt and link"),
    ("---\nslug: b\ntitle: 'Front: one' \n---\n# Heading", "", "Front: one"),
    ("---\ntitle: Front\n---\n# Heading", "title=Query", "Query"),
    ("---\ntitle: >\n  folded\nslug: b\n---\n# Heading", "", "Heading"),
    ("<!-- # a\n\n-->\n# Heading", "", "Heading"),
]


def test_where_the_title_comes_from(wiki):
    # C-WIKI-2
    for text, query, title in TITLES:
        made = send(wiki, "PUT", f"{NEW}/deep/page.one?{query}", text.encode())
        assert made.json["title"] == title
        assert wiki.get(NEW).json["pages"][0]["title"] == title


def test_front_matter_and_comments_are_not_shown(wiki):
    # C-WIKI-6, C-WIKI-8
    source = "---\ntitle: Front\nslug: unseen\n---\n## One\n\n<!-- unseen -->\ntext\n"
    send(wiki, "PUT", f"{NEW}/hide", source.encode())
    assert wiki.get(f"{NEW}/hide").text == source
    for address in ("/Modhub/Wiki/hide", "/Modhub/Wiki", "/Modhub/wiki.atom", "/Modhub/wiki.json"):
        shown = wiki.get(address)
        assert "Front" in shown
        assert "unseen" not in shown
    for q, hits in (("text", 1), ("slug", 0), ("unseen", 0)):
        assert len(wiki.get("/Modhub/Wiki", {"q": q}).html.select(".wiki-hits > li")) == hits


GOOD = [
    "A.b_c-D",
    "a/b/c",
    "x" * 200,
    "a..b",
    "search",
    "api",
]
_BAD = (
    r".. . a/.. a/../b a/./b ./a ../a ../../x a//b // /a .a -a _a a/.b %2e%2e %2e%2e/x a/%2E%2E/b %252e %00 a%00 "
    r"a%0a a%2f%2fb a%5cb \a a;b a:b a+b a~b %C3%BC a/%D9%A3 %EF%BC%8E%EF%BC%8E a// a@b * a%25 %20 a%20 "
)
BAD = [*_BAD.split(), "a b", "x" * 201, "a" * 5000]


def test_paths_that_a_page_may_have(wiki):
    # C-WIKI-1, C-WIKI-7
    for path in GOOD:
        assert send(wiki, "PUT", f"{NEW}/{path}").json["path"] == path
        for other in (NEW, OLD):
            assert wiki.get(f"{other}/{path}").body == b"# A\n"
        assert wiki.get(f"/Modhub/Wiki/{path}").status_int == 200
        assert send(wiki, "PUT", f"{OLD}/{path}/").json["revision"] == 2


def test_paths_that_no_page_may_have(wiki):
    # C-WIKI-1
    send(wiki, "PUT", f"{NEW}/a")
    send(wiki, "PUT", f"{NEW}/b")
    for path in BAD:
        for method in ("PUT", "DELETE"):
            answer = send(wiki, method, f"{NEW}/{path}", b"x" * (1024 * 1024 + 1) if path == ".." else b"# A")
            assert (answer.status_int, answer.json["error"]) == (400, "invalid_input"), (method, path)
        assert wiki.get(f"{NEW}/{path}", expect_errors=True).status_int == 404, path
        assert wiki.get(f"/Modhub/Wiki/{path}", expect_errors=True).status_int == 404, path
    pages = wiki.get(NEW).json["pages"]
    assert [(page["path"], page["revision"]) for page in pages] == [("a", 1), ("b", 1)]
