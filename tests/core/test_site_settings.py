"""The operator's name, mark, colour and texts."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from PIL import Image

from modhub.base.settings import StartRefused
from modhub.ui import accent
from modhub_testing import TEST_ACCOUNTS
from modhub_testing.mods import published_mod
from modhub_testing.pages import new_visitor
from tests.core.test_pictures_decoding import encoded

pytestmark = pytest.mark.slow

GERMAN = {"Accept-Language": "de"}
TEXT = """# Imprint of *Deck* mods

Ada Example, <script>alert(1)</script> [write](mailto:ada@example.org), [terms](/Modhub/terms),
[bad](javascript:alert(1)), [worse](//evil.example.org) ![seen](https://evil.example.org/x.png)

# Address

| a | b |
|---|---|
| 1 | 2 |
"""


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def test_without_settings_nothing_of_it_is_there(site):
    page = site.get("/Modhub")
    assert "<title>Mods · modhub</title>" in page.text
    assert "accent" not in page.text
    assert "Report this mod" not in site.get(published_mod(site)["url"])
    for name in ("contact", "imprint", "privacy", "terms"):
        assert f"/Modhub/{name}" not in page.text
        absent = site.get(f"/Modhub/{name}", status=404)
        assert absent.text == site.get("/Modhub/nowhere", status=404).text


def test_security_txt_leads_to_the_contact_page(start, tmp_path, site):
    # C-RUN-51
    contact = write(tmp_path, "contact.md", "Write to us.")
    told = start("", modhub__contact=contact, modhub__base_url="https://mods.example.org")
    answer = told.get("/.well-known/security.txt")
    assert (answer.content_type, answer.charset) == ("text/plain", "utf-8")
    fields = dict(line.split(": ", 1) for line in answer.text.splitlines())
    assert fields["Contact"] == "https://mods.example.org/Modhub/contact"
    left = datetime.fromisoformat(fields["Expires"]) - datetime.now(UTC)
    assert timedelta(days=100) < left < timedelta(days=365)
    told.get("/.well-known/other", status=404)
    for method in ("GET", "POST"):
        site.request("/.well-known/security.txt", method=method, status=404)


def test_the_name_stands_everywhere(start):
    site = start(TEST_ACCOUNTS, modhub__site_name="Deck <Mods> of the North")
    escaped = "Deck &lt;Mods&gt; of the North"
    mod = published_mod(site)
    for address in ("/Modhub", f"/Modhub/{mod['id']}", "/Modhub/doc"):
        page = site.get(address)
        assert f"· {escaped}</title>" in page.text
        assert f"<span>{escaped}</span></a>" in page.text
    assert f'property="og:site_name" content="{escaped}"' in site.get(f"/Modhub/{mod['id']}").text
    assert f"<title>{escaped} – " in site.get("/Modhub/feed").text
    assert f"<author><name>{escaped}</name></author>" in site.get("/Modhub/feed").text
    assert site.get("/Modhub/feed.json").json["title"].startswith("Deck <Mods> of the North – ")
    assert site.get("/manifest.webmanifest").json["name"] == "Deck <Mods> of the North"
    assert "<ShortName>Deck &lt;Mods&gt; of t</ShortName>" in site.get("/opensearch.xml").text
    assert f"· {escaped}</title>" in site.get("/Modhub/nowhere", status=404).text


def test_texts_are_pages_with_links_in_the_footer(start, tmp_path):
    path = write(tmp_path, "imprint.md", TEXT)
    site = start("", modhub__imprint=path, modhub__privacy=write(tmp_path, "p.md", "Nothing is *kept*."))
    front = site.get("/Modhub")
    assert '<a href="/Modhub/imprint">Imprint</a>' in front.text
    assert '<a href="/Modhub/privacy">Datenschutz</a>' in site.get("/Modhub", headers=GERMAN).text
    assert "/Modhub/terms" not in front.text
    page = site.get("/Modhub/imprint")
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    main = page.text.partition("<main")[2].partition("</main>")[0]
    assert re.findall(r"<h1[^>]*>([^<]*)</h1>", main) == ["Imprint of Deck mods"]
    assert "<h2>Address</h2>" in main
    assert "<td>1</td>" in main
    assert "<script" not in main
    assert "evil.example.org/x.png" not in main
    assert re.findall(r'href="([^"]*)"', main) == ["mailto:ada@example.org", "/Modhub/terms"]
    assert page.html.find("meta", {"name": "description"})["content"].startswith(
        "Ada Example, <script>alert(1)</script>"
    )
    assert [f"/Modhub/{name}</loc>" in site.get("/sitemap.xml").text for name in ("imprint", "privacy", "terms")] == [
        True,
        True,
        False,
    ]
    again = site.get("/Modhub/privacy", headers=GERMAN)
    assert '<h1 dir="auto">Datenschutz</h1>' in again.text
    assert "<em>kept</em>" in again.text
    site.get("/Modhub/privacy", headers={**GERMAN, "If-None-Match": again.headers["ETag"]}, status=304)


def test_the_front_welcomes_visitors(start, tmp_path):
    site = start(f"{TEST_ACCOUNTS} modhub_builds", modhub__welcome=write(tmp_path, "w.md", "Hello **you**"))
    welcome = "<p>Hello <strong>you</strong></p>"
    assert welcome in site.get("/Modhub").text
    assert "choose a mod" not in site.get("/Modhub").text
    assert welcome not in site.get("/Modhub?sort=top").text
    assert welcome not in new_visitor(site, 7).get("/Modhub").text


def test_the_app_is_introduced(start, tmp_path):
    assert "<p>The app is the overlay: " in start("modhub_builds").get("/Modhub/App").text
    introduced = start("modhub_builds", modhub_builds__introduction=write(tmp_path, "a.md", "Our *own* words"))
    assert "<p>Our <em>own</em> words</p>" in introduced.get("/Modhub/App").text
    assert "The app is the overlay" not in introduced.get("/Modhub/App").text
    assert '<meta name="description" content="Our own words">' in introduced.get("/Modhub/App").text


@pytest.mark.parametrize(
    ("name", "content"), [("m.png", encoded(Image.new("L", (1, 1)))), ("m.svg", b'<?xml version="1.0"?><svg/>')]
)
def test_the_mark_is_served_as_a_static_file(start, tmp_path, name, content):
    site = start("", modhub__site_mark=write(tmp_path, name, content))
    [address] = set(re.findall(r'(/static/modhub-site-mark-[^"]+)"', site.get("/Modhub").text))
    answer = site.get(address)
    assert answer.body == content
    assert answer.content_type == {"m.png": "image/png", "m.svg": "image/svg+xml"}[name]
    assert "sandbox" in answer.headers["Content-Security-Policy"]


def test_the_accent_is_a_style_sheet_in_both_schemes(start):
    site = start("", modhub__accent="#FFCC00")
    page = site.get("/Modhub")
    [address] = re.findall(r'href="(/static/modhub-site-accent-[^"]+)"', page.text)
    assert page.text.index("modhub-style") < page.text.index(address)
    assert "--petrol: #ffcc00;" in site.get(address).text
    assert "<style" not in page.text
    assert "style=" not in page.text
    site.set_cookie("modhub-theme", "dark")
    [dark] = re.findall(r'href="(/static/modhub-site-accent-dark[^"]+)"', site.get("/Modhub").text)
    assert "prefers-color-scheme" not in site.get(dark).text


@pytest.mark.parametrize("colour", ["#ffffff", "#000000", "#ffcc00", "#0a5c62"])
def test_an_accent_is_readable_everywhere(colour):
    sheet = accent.accent_sheet(colour).decode()
    light, dark = re.findall(r"--petrol: (#\w{6});", sheet)
    deep_light, deep_dark = re.findall(r"--petrol-deep: (#\w{6});", sheet)
    style = (Path(accent.__file__).parents[1] / "static" / "style.css").read_text("utf-8")
    names = ["paper", "surface", "sunken", "warn-back", "good-back"]
    tints = re.findall(r"--back: (#\w{6});", style)
    for number, colours in enumerate(((light, deep_light), (dark, deep_dark))):
        backgrounds = [re.findall(rf"--{name}: (#\w{{6}});", style)[number] for name in names]
        for background in backgrounds + tints[number * len(accent.HUES) :][: len(accent.HUES)]:
            assert min(accent.contrast(foreground, background) for foreground in colours) >= 4.5
    on = re.findall(r"--on-petrol: (#\w{6});", sheet)
    assert accent.contrast(on[0], light) >= 4.5
    assert accent.contrast(on[1], dark) >= 4.5
    assert accent.contrast("#000000", "#ffffff") == pytest.approx(21)


def test_every_tint_is_readable_and_is_that_of_its_hue():
    style = (Path(accent.__file__).parents[1] / "static" / "style.css").read_text("utf-8")
    tints = re.findall(r"--back: (#\w{6}); --mark: (#\w{6});", style)
    for number, (back, mark) in enumerate(tints):
        scheme, hue = divmod(number, len(accent.HUES))
        texts = [re.findall(rf"--{name}: (#\w{{6}});", style)[scheme] for name in ("ink", "soft", "petrol", "ember")]
        assert min(accent.contrast(text, back) for text in (*texts, mark)) >= 4.5
        assert accent.contrast(mark, re.findall(r"--paper: (#\w{6});", style)[scheme]) >= 4.5
        assert accent.nearest_hue(mark) == hue
    assert len(tints) == 2 * len(accent.HUES)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("imprint", "/nowhere/x.md", "the setting modhub.imprint names '/nowhere/x.md', which cannot be read: "),
        ("terms", "terms.md", "the setting modhub.terms must be an absolute path, not 'terms.md'"),
        ("privacy", "{folder}", "which cannot be read: Is a directory"),
        ("contact", "{folder}/binary", "the setting modhub.contact names a file that is not UTF-8"),
        ("welcome", "{folder}/long", "which has more than 256 KB"),
        ("site_mark", "{folder}/text", "which is not a PNG, JPEG, WebP or SVG image"),
        ("site_name", " ", "the setting modhub.site_name must have 1 to 40 characters"),
        ("accent", "petrol", "the setting modhub.accent must be a colour such as #0a5c62, not 'petrol'"),
    ],
)
def test_a_wrong_value_stops_the_start_with_one_sentence(start, tmp_path, name, value, sentence):
    # C-SET-2
    write(tmp_path, "binary", b"\xff\xfe")
    write(tmp_path, "long", b"x" * (256 * 1024 + 1))
    write(tmp_path, "text", "no image")
    with pytest.raises(StartRefused) as error:
        start("", **{f"modhub__{name}": value.replace("{folder}", str(tmp_path))})
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)
