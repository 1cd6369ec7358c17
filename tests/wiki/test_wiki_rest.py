"""Publishing and reading over REST, at both addresses."""

import re
from itertools import product
from typing import Any

import pytest

from modhub_testing import Site

pytestmark = pytest.mark.slow

NEW, OLD = "/Modhub/api/wiki", "/api/modhub/wiki"
MOUNTS = pytest.mark.parametrize("mount", [NEW, OLD])
KEY = {"X-Api-Key": "wiki-key"}
STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def send(wiki: Site, method: str, url: str, body: bytes = b"# A\n", key: str | None = "wiki-key", **more: Any) -> Any:
    headers = {**({} if key is None else {"X-Api-Key": key}), **more.pop("headers", {})}
    more.setdefault("content_type", "text/markdown")
    return wiki._gen_request(method, url, params=body, headers=headers, expect_errors=True, **more)


@MOUNTS
@pytest.mark.parametrize("method", ["PUT", "POST"])
def test_a_page_is_created_then_changed(wiki: Site, mount: str, method: str) -> None:
    # C-WIKI-2
    made = send(wiki, method, f"{mount}/guide/first", b"# First page\n\nText.\n")
    assert made.status_int == 201
    assert made.content_type == "application/json"
    stamp = made.json.pop("updatedAt")
    assert STAMP.fullmatch(stamp)
    expected = {"path": "guide/first", "title": "First page", "url": "/Modhub/Wiki/guide/first", "revision": 1}
    assert {**made.json} == {**expected, "updatedAt": stamp}
    changed = send(wiki, method, f"{mount}/guide/first", b"# Second title\n")
    assert changed.status_int == 200
    assert changed.json["revision"] == 2
    assert changed.json["title"] == "Second title"
    assert changed.json["updatedAt"] > stamp


@MOUNTS
def test_the_markdown_is_answered_as_it_was_sent(wiki: Site, mount: str) -> None:
    # C-WIKI-6
    body = "# Ünïcode\n\n    code at the start is kept\n\ntab\there, line end:  \n\n\n".encode()
    send(wiki, "PUT", f"{NEW}/a", body)
    read = wiki.get(f"{mount}/a")
    assert read.body == body
    assert read.headers["Content-Type"] == "text/markdown; charset=utf-8"
    assert read.headers["Access-Control-Allow-Origin"] == "*"
    assert read.headers["Cache-Control"] == "no-cache"
    etag = read.headers["ETag"]
    assert re.fullmatch(r'"[0-9a-f]+"', etag)
    same = wiki.get(f"{mount}/a", headers={"If-None-Match": etag}, status=304)
    assert same.body == b""
    assert same.headers["ETag"] == etag
    assert wiki.head(f"{mount}/a").headers["ETag"] == etag
    send(wiki, "PUT", f"{OLD}/a", body + b"more")
    assert wiki.get(f"{mount}/a", headers={"If-None-Match": etag}, status=200).headers["ETag"] != etag


def test_line_ends_become_newlines_and_what_cannot_be_stored_goes(wiki: Site) -> None:
    send(wiki, "PUT", f"{NEW}/a", b"\xef\xbb\xbf# A\r\nb\rc\x00\x1b[0m\n")
    assert wiki.get(f"{NEW}/a").body == b"# A\nb\nc[0m\n"


@MOUNTS
def test_the_list_is_by_path(wiki: Site, mount: str) -> None:
    # C-WIKI-6, C-WIKI-7
    assert wiki.get(mount).json == {"count": 0, "pages": []}
    made = [send(wiki, "PUT", f"{NEW}/{path}").json for path in ("b", "a/z", "a", "B", "a-b", "a.b")]
    listed = wiki.get(mount).json
    assert listed["count"] == 6
    assert [page["path"] for page in listed["pages"]] == ["B", "a", "a-b", "a.b", "a/z", "b"]
    assert listed["pages"] == sorted(made, key=lambda page: page["path"])
    assert wiki.get(mount + "/").json == listed
    assert wiki.head(mount).headers["ETag"] == wiki.get(mount).headers["ETag"]


@MOUNTS
@pytest.mark.postgres
def test_a_deleted_page_is_gone_and_numbers_on(wiki: Site, mount: str) -> None:
    # C-WIKI-5
    send(wiki, "PUT", f"{NEW}/a")
    send(wiki, "PUT", f"{NEW}/a")
    gone = send(wiki, "DELETE", f"{mount}/a", b"")
    assert (gone.status_int, gone.body) == (204, b"")
    assert send(wiki, "DELETE", f"{mount}/a", b"").status_int == 404
    assert wiki.get(f"{mount}/a", status=404).json["error"] == "not_found"
    assert wiki.get(mount).json["count"] == 0
    for address in ("", "?history", "?revision=1"):
        wiki.get(f"/Modhub/Wiki/a{address}", status=404)
    assert b"<entry>" not in wiki.get("/Modhub/wiki.atom").body
    again = send(wiki, "PUT", f"{mount}/a")
    assert (again.status_int, again.json["revision"]) == (201, 3)
    wiki.get("/Modhub/Wiki/a?revision=1", status=200)


@MOUNTS
def test_deleting_what_never_was_is_404(wiki: Site, mount: str) -> None:
    # C-WIKI-5
    assert send(wiki, "DELETE", f"{mount}/never", b"").status_int == 404


@MOUNTS
@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE"])
def test_every_key_that_may_not_is_unknown(wiki: Site, mount: str, method: str) -> None:
    # C-WIKI-2, C-WIKI-7
    send(wiki, "PUT", f"{NEW}/a")
    answers = []
    paths = ("a", "never", "..", "%20", "a//b", "x" * 201)
    for path, body in product(paths, (b"# good", b"", b"\xff", b"x" * (1024 * 1024 + 1))):
        url = f"{mount}/{path}"
        none = send(wiki, method, url, body, key=None)
        assert none.status_int == 401
        assert none.json == {"error": "no_api_key"}
        assert none.headers["WWW-Authenticate"] == 'ApiKey realm="modhub"'
        wrong = (
            "app-key",
            "wiki",
            "wiki-key2",
            "wiki-key Modhub:wiki",
            "",
            "address-key",
            "WIKI-KEY",
            "k\u00e9y",
            "x" * 5000,
        )
        answers += [send(wiki, method, url, body, key=key.encode().decode("latin-1")) for key in wrong]
    assert {(answer.status_int, answer.body) for answer in answers} == {(401, b'{"error":"unknown_api_key"}')}
    assert wiki.get(NEW).json["pages"][0]["revision"] == 1


def test_without_configured_keys_every_key_is_unknown(start: Any) -> None:
    site = start("modhub_wiki", ApiPrivateKeys="\n   \n")
    for key in ("", " ", "wiki-key", "Modhub:wiki"):
        assert send(site, "PUT", f"{NEW}/a", key=key).json == {"error": "unknown_api_key"}
    assert send(site, "PUT", f"{NEW}/a", key=None).json == {"error": "no_api_key"}


def test_a_key_with_several_scopes_may_publish(wiki: Site) -> None:
    assert send(wiki, "PUT", f"{NEW}/a", key="other-key").status_int == 201


@MOUNTS
@pytest.mark.parametrize("method", ["PUT", "POST"])
def test_bodies_that_are_refused(wiki: Site, mount: str, method: str) -> None:
    # C-WIKI-4
    for body in (b"", b" \n\t\r\n", b"\xef\xbb\xbf", b"\x00"):
        empty = send(wiki, method, f"{mount}/a", body)
        assert (empty.status_int, empty.json["message"]) == (400, "The body is empty. Send the page as Markdown.")
    for body in (b"\xff\xfe# A", b"# caf\xe9", b"\xed\xa0\x80"):
        answer = send(wiki, method, f"{mount}/a", body)
        assert (answer.status_int, answer.json["error"]) == (400, "invalid_input")
        assert "UTF-8" in answer.json["message"]
    assert send(wiki, method, f"{mount}/a", headers={"Content-Encoding": "gzip"}).status_int == 400
    form = send(wiki, method, f"{mount}/a", b"--B\r\n\r\n# A\r\n--B--", content_type="multipart/form-data; boundary=B")
    assert (form.status_int, "the file itself" in form.json["message"]) == (400, True)
    assert wiki.get(NEW).json["count"] == 0


@MOUNTS
def test_a_megabyte_is_taken_and_one_byte_more_is_not(wiki: Site, mount: str) -> None:
    # C-WIKI-4
    limit = 1024 * 1024
    body = b"# Long\n\n" + b"word " * (limit // 5)
    body = body[:limit]
    refused = send(wiki, "PUT", f"{mount}/a", body + b"x")
    assert (refused.status_int, refused.json["limitBytes"]) == (413, limit)
    assert refused.json["error"] == "too_large"
    wiki.get(f"{mount}/a", status=404)
    assert send(wiki, "PUT", f"{mount}/a", body).status_int == 201
    assert wiki.get(f"{mount}/a").body == body
    assert '<h1 id="long">' in wiki.get("/Modhub/Wiki/a").text


def test_the_server_knows_the_limit_and_the_header(wiki: Site) -> None:
    from modhub.base.body_rules import IBodyRules

    rules = wiki.registry.getUtility(IBodyRules)
    for mount in (NEW, OLD):
        for method in ("PUT", "POST", "DELETE"):
            rule = rules.find(method, f"{mount}/deep/down/page")
            assert (rule.limit, rule.credential) == (1024 * 1024, "X-Api-Key")


TITLES = [
    ("# From *the* `heading`", "", "From the heading"),
    ("text\n\nSetext\n---\n\n# Later", "", "Setext"),
    ("# \n\n## The first with a text", "", "The first with a text"),
    ("no heading", "", "page.one"),
    ("# A", "title=From+the+query", "From the query"),
    ("# A", "title=", "A"),
    ("# A", "title=%20%09", "A"),
    ("# A", "title=" + "x" * 200, "x" * 120),
    ("# " + "y" * 200, "", "y" * 120),
    ("# A", "title=a%0Ab%E2%80%AEc", "a bc"),
    ("# A", "title=one&title=two", "two"),
    ("```\n# no heading\n```", "", "page.one"),
    ("# a \\# &amp; &lt;b&gt; <i>", "", "a # & <b> <i>"),
    ("# ![alt](/Modhub/file/1) and [link](b)", "", "alt and link"),
    ("---\nslug: b\ntitle: 'Front: one' \n---\n# Heading", "", "Front: one"),
    ("---\ntitle: Front\n---\n# Heading", "title=Query", "Query"),
    ("---\ntitle: >\n  folded\nslug: b\n---\n# Heading", "", "Heading"),
    ("---\ntitle: Front\n", "", "page.one"),
    ("<!-- # a\n\n-->\n# Heading", "", "Heading"),
]


def test_where_the_title_comes_from(wiki: Site) -> None:
    # C-WIKI-3
    for text, query, title in TITLES:
        made = send(wiki, "PUT", f"{NEW}/deep/page.one?{query}", text.encode())
        assert made.json["title"] == title
        assert wiki.get(NEW).json["pages"][0]["title"] == title


def test_front_matter_and_comments_are_not_shown(wiki: Site) -> None:
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
    "a",
    "0",
    "A.b_c-D",
    "a/b/c",
    "x" * 200,
    "a." + "b",
    "a-",
    "a_",
    "a.",
    "a..b",
    "index",
    "search",
    "feed",
    "api",
    "a/b.md",
]
_BAD = (
    r".. . a/.. a/../b a/./b ./a ../a ../../x a//b // /a .a -a _a a/.b %2e%2e %2e%2e/x a/%2E%2E/b %252e %00 a%00 "
    r"a%0a a%2f%2fb a%5cb \a a;b a:b a+b a~b %C3%BC a/%D9%A3 %EF%BC%8E%EF%BC%8E a// a@b * a%25 %20 a%20 "
)
BAD = [*_BAD.split(), "a b", "x" * 201, "a" * 5000]


@MOUNTS
def test_paths_that_a_page_may_have(wiki: Site, mount: str) -> None:
    # C-WIKI-1, C-WIKI-7
    for path in GOOD:
        assert send(wiki, "PUT", f"{mount}/{path}").json["path"] == path
        for other in (NEW, OLD):
            assert wiki.get(f"{other}/{path}").body == b"# A\n"
            assert wiki.get(f"{other}/{path}/").body == b"# A\n"
        assert wiki.get(f"/Modhub/Wiki/{path}").status_int == 200
        assert send(wiki, "PUT", f"{mount}/{path}/").json["revision"] == 2


@MOUNTS
def test_paths_that_no_page_may_have(wiki: Site, mount: str) -> None:
    # C-WIKI-1, C-WIKI-7
    send(wiki, "PUT", f"{NEW}/a")
    send(wiki, "PUT", f"{NEW}/b")
    for path in BAD:
        for method in ("PUT", "POST", "DELETE"):
            answer = send(wiki, method, f"{mount}/{path}", b"x" * (1024 * 1024 + 1) if path == ".." else b"# A")
            assert (answer.status_int, answer.json["error"]) == (400, "invalid_input"), (method, path)
        for method in ("GET", "HEAD"):
            assert send(wiki, method, f"{mount}/{path}", b"", key=None).status_int == 404, (method, path)
        assert wiki.get(f"/Modhub/Wiki/{path}", expect_errors=True).status_int == 404, path
    pages = wiki.get(NEW).json["pages"]
    assert [(page["path"], page["revision"]) for page in pages] == [("a", 1), ("b", 1)]


def test_an_encoded_slash_or_letter_is_the_same_address(wiki: Site) -> None:
    assert send(wiki, "PUT", f"{NEW}/a%2Fb").json["path"] == "a/b"
    assert send(wiki, "PUT", f"{NEW}/%61/b").json["revision"] == 2


@pytest.mark.parametrize("address", ["/Modhub//api/wiki/a", "/Modhub/./api/wiki/a", "/api//modhub/wiki/a"])
def test_an_odd_way_to_a_page_leads_to_none(wiki: Site, address: str) -> None:
    send(wiki, "PUT", f"{NEW}/a")
    assert wiki.get(address, expect_errors=True).status_int == 404


def test_not_utf8_in_the_address_is_400(wiki: Site) -> None:
    assert send(wiki, "PUT", f"{NEW}/%ff").status_int == 400
    assert wiki.get("/Modhub/Wiki/%ff", expect_errors=True).status_int == 400


@MOUNTS
def test_methods_that_an_address_does_not_have(wiki: Site, mount: str) -> None:
    # C-WIKI-7
    for key in (None, "wiki-key"):
        page = send(wiki, "PATCH", f"{mount}/a", key=key)
        assert (page.status_int, page.headers["Allow"]) == (405, "DELETE, GET, HEAD, POST, PUT")
        for bare in (mount, mount + "/"):
            whole = send(wiki, "PUT", bare, key=key)
            assert (whole.status_int, whole.headers["Allow"]) == (405, "GET, HEAD")
    assert wiki.put("/Modhub/Wiki/a", b"# A", headers=KEY, expect_errors=True).status_int == 405


def test_the_api_does_not_show_again_below_the_site(wiki: Site) -> None:
    for address in ("/Modhub/api", "/Modhub/api/modhub", "/Modhub/api/modhub/games", "/Modhub/api/auth/me"):
        answer = wiki.get(address, expect_errors=True)
        assert (answer.status_int, answer.json["error"]) == (404, "not_found"), address


def test_the_contract_is_markdown(wiki: Site) -> None:
    # C-WIKI-10
    read = wiki.get("/api/modhub/doc/wiki")
    assert read.headers["Content-Type"] == "text/markdown; charset=utf-8"
    assert read.headers["ETag"]
    for word in ("/Modhub/api/wiki/{path}", "X-Api-Key", "Modhub:wiki", "413", "unknown_api_key"):
        assert word in read.text
    wiki.get("/api/modhub/doc/wiki", headers={"If-None-Match": read.headers["ETag"]}, status=304)
    wiki.get("/api/modhub/doc", status=404)
    wiki.get("/api/modhub/doc/other", status=404)
    assert send(wiki, "PUT", "/api/modhub/doc/wiki").status_int == 405


def test_statements_do_not_grow_with_the_pages(wiki: Site) -> None:
    counts = []
    for size in (1, 12):
        for at in range(size):
            send(wiki, "PUT", f"{NEW}/p{at}", b"# A word\n\nword")
        seen = []
        addresses = (NEW, f"{NEW}/p0", "/Modhub/Wiki", "/Modhub/Wiki/p0", "/Modhub/Wiki?q=word", "/Modhub/wiki.atom")
        for address in (*addresses, "/Modhub/Wiki/p0?history", "/Modhub/Wiki/p0?revision=1"):
            with wiki.counted() as statements:
                wiki.get(address)
            seen.append(len(statements))
        counts.append(seen)
    assert counts[0] == counts[1]
    assert counts[0] == [1, 1, 2, 2, 3, 1, 2, 2]
