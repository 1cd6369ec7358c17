"""Pages with the longest and oddest content allowed: no sideways scrolling, valid markup."""

import io
from urllib.parse import quote, urlencode

import pytest
from PIL import Image

from modhub_testing.service import PASSWORD

FEATURES = "modhub_auth modhub_builds modhub_wiki modhub_moderation"
KEY = "a-machine-key-for-these-tests-alone"
EMAIL = "author@example.com"
NAME, TITLE, GAME, VERSION, FILE = "N" * 80, "W" * 120, "G" * 120, "v" * 64, "F" * 251 + ".zip"
MARKS = "Z" + "\u0351\u0334\u0489" * 39
"""One character, wider than a screen, that nothing can break."""
MARKUP = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
CONTENT = (
    f"<h2>{TITLE}</h2><p>{'x' * 3000}</p><pre>{'p' * 500}</pre><ul><li>{TITLE}</li></ul>"
    f"<blockquote>{TITLE}</blockquote><table><tr>{'<td>cellcell</td>' * 40}</tr></table>"
)
WIKI = f"""# {TITLE}

Some `{"c" * 300}` and {"x" * 500} and <https://example.com/{"u" * 300}>.

## {TITLE}

| {TITLE} | b | c | d |
|---|---|---|---|
| {"y" * 200} | {"z" * 200} | c | d |

```python
{"l" * 300} = 1
```

- {TITLE}
  1. {TITLE}

> {TITLE}
"""
WIKI_PATH = "/".join(["p" * 60, "q" * 60, "r" * 70])


def png(width, height):
    file = io.BytesIO()
    Image.new("RGB", (width, height), "teal").save(file, "PNG")
    return file.getvalue()


def long_mod(author, title, images=0, releases=1, **fields):
    """A draft with files under the longest names."""
    mod = author.new_mod(title, **fields)
    for number in range(releases):
        version = VERSION[3:] + f"{number:03}"
        assert author.send_file(mod["id"], "code", b"z" * 5000, name=FILE, version=version).status == 201
    for number in range(images):
        content, name = png(320, 60 + number), f"{number}{'i' * 240}.png"
        assert author.send_file(mod["id"], "images", content, "image/png", name=name).status == 201
    return mod


def fill(service):
    """Everything in its longest form; the mods get the numbers 1 to 8."""
    author, other = service.caller(), service.caller()
    account = {"email": EMAIL, "password": PASSWORD, "displayName": NAME, "client": TITLE}
    for caller, email in ((author, EMAIL), (other, "other@example.com")):
        caller.token = caller.need(201, "POST", "/api/auth/register", {**account, "email": email})["accessToken"]

    def publish(caller, mod):
        return caller.need(200, "POST", f"/api/modhub/{mod['id']}/publish")

    guids = [f"{number:08x}-89ab-cdef-0123-456789abcdef" for number in range(40)]
    long = publish(author, long_mod(author, TITLE, description=CONTENT, games=[GAME], conflictsWith=guids))
    arabic = long_mod(author, "تعديل الواجهة العربية 2.0 (beta)", description="<p>هذا وصف</p>", games=["لعبة"])
    publish(author, arabic)
    publish(author, long_mod(author, "👩‍👩‍👧‍👦" * 17, description=f"<p>{'😀' * 400}</p>", games=["🏳️‍🌈" * 20]))
    games = [f"{number} {GAME}"[:120] for number in range(20)]
    most = {"games": games, "requires": [long["guid"], arabic["guid"], *guids], "description": CONTENT}
    full = publish(author, long_mod(author, TITLE[1:], images=11, releases=11, **most))
    (first, *_) = author.need(200, "GET", f"/api/modhub/{full['id']}/changelog")["notes"]
    entry = {"title": TITLE, "text": CONTENT[:3900]}
    author.need(200, "PUT", f"/api/modhub/{full['id']}/changelog/{first['id']}", entry)
    publish(author, long_mod(author, MARKUP, description=MARKUP, games=[MARKUP]))
    draft = long_mod(author, TITLE, images=2, **most)
    assert author.send_file(draft["id"], "images", b"no picture", "text/plain", name="notes.txt").status == 201
    odd = long_mod(author, "No picture at all")
    for kind, media_type, end in (("images", "text/plain", ".txt"), ("css", "text/css", ".css")):
        assert author.send_file(odd["id"], kind, b"a{}", media_type, name="n" * 251 + end).status == 201
    publish(author, odd)
    # Somebody else's, so that the workshop holds only what can be broken.
    publish(other, long_mod(other, MARKS, description=f"<p>{MARKS * 8}</p>", games=[MARKS]))

    def send(method, path, content):
        answer = author.ask(method, path, content, {"X-Api-Key": KEY, "Content-Type": "text/plain"})
        assert answer.status in {200, 201}, answer

    for os in ("windows", "o" * 32):
        for number in range(2):
            query = urlencode({"name": f"{number}{FILE[1:]}", "version": f"{number}{'v' * 60}"})
            send("POST", f"/api/modhub/app/{os}?{query}", b"build")
    send("POST", "/api/modhub/app/changelog", f"{TITLE}\n\n{'c' * 2000}".encode())
    for path in (WIKI_PATH, "index", "short"):
        for text in (WIKI, WIKI.replace("y", "yyy")):
            send("PUT", f"/Modhub/api/wiki/{path}?{urlencode({'title': TITLE})}", text.encode())


SEARCH = {"q": "q" * 200, "game": "G" * 120}
PAGES = {
    "browse": "/Modhub?size=100",
    "nothing": "/Modhub?" + urlencode(SEARCH),
    "game": "/Modhub?" + urlencode({"q": "www", "game": GAME}),
    "long": "/Modhub/1",
    "arabic": "/Modhub/2",
    "full": "/Modhub/4",
    "markup": "/Modhub/5",
    "odd": "/Modhub/7",
    "mine": "/Modhub/mine",
    "draft": "/Modhub/mine/6",
    "preview": "/Modhub/mine/6/preview",
    "account": "/Modhub/account",
    "app": "/Modhub/App",
    "wiki": "/Modhub/Wiki",
    "wiki-page": f"/Modhub/Wiki/{WIKI_PATH}",
    "wiki-history": "/Modhub/Wiki/short?history",
    "wiki-search": "/Modhub/Wiki?q=" + quote("W" * 60),
    "wiki-nothing": "/Modhub/Wiki?q=" + quote("q" * 200),
    "absent": "/Modhub/" + "a" * 200,
}


@pytest.fixture(scope="module")
def crowded(serve_with, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("APIPRIVATEKEYS", f"{KEY} Modhub:app Modhub:wiki")
        with serve_with(tmp_path_factory.mktemp("crowded"), FEATURES) as service:
            fill(service)
            yield service


@pytest.mark.parametrize("width", [320, 1280])
def test_whatever_is_stored_stays_in_its_place(browser, crowded, width, picture, beyond):
    context = browser.new_context(base_url=crowded.address, viewport={"width": width, "height": 800})
    page = context.new_page()
    crowded.sign_in(page, EMAIL)
    wide = {}
    for name, address in PAGES.items():
        page.goto(address)
        picture(page, name)
        if sideways := beyond(page):
            wide[name] = sideways
    page.goto("/Modhub/1")
    # A table scrolls: its words are on one line, not broken into letters.
    row = page.locator(".prose tr").first.bounding_box()
    assert row
    assert row["height"] < 50
    page.emulate_media(media="print")
    assert page.locator(".prose pre").evaluate("(code) => code.scrollWidth - code.clientWidth") == 0
    page.emulate_media(media="screen")
    # Twice the size of the text (WCAG 1.4.4): the links that skip stay out of sight until they have the focus.
    page.goto("/Modhub?q=w")
    page.evaluate("document.documentElement.style.fontSize = '200%'")
    assert (
        page.locator(".skip").evaluate_all(
            "(all) => all.filter((one) => one.getBoundingClientRect().bottom > 0).length"
        )
        == 0
    )
    # A name that is too long is cut off, not replaced by three dots.
    page.goto("/Modhub?size=100")
    ends = page.locator(".card .author").evaluate_all(
        "(lines) => lines.map((line) => [line.lastElementChild, line].map((at) => at.getBoundingClientRect().right))"
    )
    assert [end for end, most in ends if end > most + 1] == []
    page.goto("/Modhub/8")
    picture(page, "marks")
    if width == 320:
        assert beyond(page) > 0
    page.evaluate("scrollBy(200, 0)")
    assert page.evaluate("[scrollX, document.documentElement.scrollWidth - innerWidth]") == [0, 0]
    # Visitors can report each image.
    context.clear_cookies()
    page.goto("/Modhub/4")
    picture(page, "full for visitors")
    if sideways := beyond(page):
        wide["full for visitors"] = sideways
    context.close()
    assert wide == {}
