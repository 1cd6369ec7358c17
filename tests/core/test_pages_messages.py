"""The catalogue of strings: German is complete and nothing in it is stale; readers get the language they ask for."""

import ast
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

import modhub
from modhub.http import error_views
from modhub.testing import Site
from modhub.testing.mods import OWNER, new_mod, publish_test_mod, published_mod, upload_asset
from modhub.testing.pages import new_visitor
from modhub.ui import formatting
from modhub.ui.i18n import ENGLISH, Catalogs, Translations, read_po

HERE = Path(modhub.__file__).parent
SINGLE = re.compile(r"""(?<![\w.])_\(\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')""")
PLURAL = re.compile(r'ngettext\(\s*"((?:[^"\\]|\\.)*)",\s*"((?:[^"\\]|\\.)*)"')
HOLE = re.compile(r"%\((\w+)\)s")


def in_templates() -> set[str]:
    """Every string that a template of the core translates."""
    found: set[str] = set()
    for path in HERE.rglob("*.jinja2"):
        source = path.read_text("utf-8")
        found |= {match[1] or match[2] for match in SINGLE.finditer(source)}
        found |= {match[1] for match in PLURAL.finditer(source)}
    return found


def constants(path: Path) -> set[str]:
    """Every string constant of a module but for its docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    strings = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return {node.value for node in strings if id(node) not in documentation}


def in_code() -> set[str]:
    """Every string constant of the core: whatever the catalogue holds must be one of them."""
    return {text for path in HERE.rglob("*.py") if "testing" not in path.parts for text in constants(path)}


def read_po_of(package: Path) -> Mapping[str, tuple[str, ...]]:
    """The German of a package."""
    return read_po((package / "messages" / "de.po").read_text("utf-8"))


def german() -> dict[str, tuple[str, ...]]:
    return dict(read_po_of(HERE))


def test_german_is_complete() -> None:
    told = [*HERE.glob("errors.py"), *HERE.glob("ui/*.py"), *HERE.glob("catalogue/pages/**/*.py")]
    # A sentence is what is told to people; names, patterns and formats are none.
    sentence = re.compile(r"[A-Z][\w ,;:'-]+ [\w ,;:'-]+[.:]")
    sentences = {text for path in told for text in constants(path) if sentence.fullmatch(text)}
    wanted = in_templates() | set(error_views.ERROR_TITLES.values()) | sentences
    assert wanted - set(german()) - TO_PROGRAMS == set()


TO_PROGRAMS = {"This form must be sent as multipart/form-data.", "The field %(field)s must be 1, 0 or -1."}


def test_nothing_in_german_is_stale() -> None:
    assert set(german()) - in_templates() - in_code() - set(formatting.MONTHS) == set()


def test_translations_keep_their_holes() -> None:
    for english, translated in german().items():
        for text in translated:
            # "One mod ..." may be said without the number.
            assert set(HOLE.findall(text)) | {"num"} == set(HOLE.findall(english)) | {"num"}, english


@pytest.mark.parametrize(
    ("header", "language"),
    [
        (None, "en"),
        ("", "en"),
        ("de", "de"),
        ("de-AT,de;q=0.9", "de"),
        ("fr, de;q=0.5, en;q=0.4", "de"),
        ("en-GB, de;q=0.5", "en"),
        ("de;q=0, en;q=0.1", "en"),
        ("*", "en"),
        ("xx", "en"),
        ("\x00de;;;q=9" * 100, "en"),
    ],
)
def test_the_reader_chooses(site: Site, header: str | None, language: str) -> None:
    page = site.get("/Modhub", headers={} if header is None else {"Accept-Language": header})
    assert page.html.html["lang"] == language


def test_a_german_page_is_german(site: Site) -> None:
    mod = published_mod(site, games=["Portal"])
    page = site.get(mod["url"], headers={"Accept-Language": "de"})
    assert "Herunterladen" in page.text
    assert "gerade eben" in page.text
    # Cards are kept, each in its language.
    assert "just now" in site.get("/Modhub").text
    assert "gerade eben" in site.get("/Modhub", headers={"Accept-Language": "de"}).text
    assert page.html.find(id="description").text == "Beschreibung"
    assert site.get("/Modhub/0", status=404, headers={"Accept-Language": "de"}).html.h1.text == "Seite nicht gefunden"


def test_thousands_are_parted_as_each_language_does(site: Site) -> None:
    mod = new_mod(site)
    upload_asset(site, mod, "code", b"x" * 1002, version="1")
    publish_test_mod(site, mod)
    author = new_visitor(site, OWNER)
    for language, number, limit in (("en", "1,002", "8,000"), ("de", "1\u202f002", "8\u202f000")):
        headers = {"Accept-Language": language}
        assert f"{number} byte" in site.get(mod["url"], headers=headers).text.lower()
        assert f"{limit} " in author.get("/Modhub/mine/new", headers=headers).text
        page = site.get("/Modhub?page=1002", headers=headers)
        assert page.html.title.text.startswith(f"Mods – {'Seite' if language == 'de' else 'page'} {number} ·")


def test_what_is_left_out_is_counted_in_its_own_gender(site: Site) -> None:
    base = published_mod(site, games=["A", "B", "C", "D"])
    for _ in range(9):
        published_mod(site, requires=[base["guid"]])
    german = {"Accept-Language": "de"}
    # Das Spiel, die Mod.
    users = site.get(base["url"], headers=german).html.find(id="users").find_parent("section")
    assert users.select("li")[-1].text == "und 1 weitere Mod"
    assert site.get("/Modhub?size=100", headers=german).html.select_one(".chips .more").text == "und 1 weiteres Spiel"
    assert "and 1 more mod" in site.get(base["url"]).text


def test_readers_are_addressed_alike_everywhere() -> None:
    # At the beginning of a sentence "Sie" and "Ihre" may stand for a thing.
    polite = re.compile(r"(?<![.:!?] )(?<!^)\b(?:Sie|Ihnen|Ihr(?:e[mnrs]?)?)\b")
    folders = [HERE, *(HERE.parent / name for name in ("modhub_auth", "modhub_builds", "modhub_wiki"))]
    texts = [text for folder in folders for found in read_po_of(folder).values() for text in found]
    assert [text for text in texts if polite.search(text)] == []


def test_a_folder_of_messages_is_added_and_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    languages = Catalogs()
    source = '# fr\nmsgid "Find"\nmsgstr "Tr"\n"ouver"\n\nmsgid "Untranslated"\nmsgstr ""\n'
    (tmp_path / "fr.po").write_text(source, "utf-8")
    languages.add(tmp_path)
    french = languages.choose("fr")
    assert french.gettext("Find") == "Trouver"
    assert french.gettext("Untranslated") == "Untranslated"
    assert french.ngettext("%(num)s a", "%(num)s b", 1000) == "1,000 b"
    assert Translations(ENGLISH).ngettext("%(num)s a", "%(num)s b", 1) == "1 a"
    with pytest.raises(ValueError, match="nonsense"):
        read_po('msgid "x"\nnonsense')
