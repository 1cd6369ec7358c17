"""Pages: addresses, titles, policies, what a mod's page leads to. What they look like is not looked at."""

import re
from typing import Final
from urllib.parse import unquote, urlencode, urlsplit

from modhub_client.verify.checks import check
from modhub_client.verify.html_texts import HtmlText
from modhub_client.verify.outcomes import Absent, Skipped
from modhub_client.verify.replies import require, require_equal
from modhub_client.verify.run import UNKNOWN_ID, Run, find_asset

_ENGLISH: Final = {"accept_language": "en"}
_PAGES: Final = ("/Modhub", "/Modhub/doc", "/Modhub?q=zqxjkvbwpqzx")


def read_page(run: Run, path: str) -> HtmlText:
    """A page in English."""
    reply = run.service.get(path, **_ENGLISH).expect(200)
    require_equal(f"the type of {path}", "text/html", reply.media_type)
    return HtmlText(reply.text)


def _page_of_mod(run: Run) -> HtmlText:
    return read_page(run, run.a_mod["url"])


def expect_redirect(run: Run, path: str, target: str, *statuses: int) -> None:
    """`Broken` unless an address leads to this path and query."""
    reply = run.service.get(path).expect(*(statuses or (301, 302, 303, 307, 308)))
    came = urlsplit(reply.header("Location"))
    require_equal(f"where {path} leads", target, unquote(came.path + (f"?{came.query}" if came.query else "")))


@check("C-PAGE-1", part="read", added=True)
def the_front_leads_to_the_list(run: Run) -> None:
    """``/`` redirects to ``/Modhub``, which takes the parameters of the list; each mod has its page."""
    expect_redirect(run, "/", "/Modhub")
    for query in ("", "?q=a", "?game=a", "?sort=top", "?page=2"):
        read_page(run, f"/Modhub{query}")
    if run.listed.document().get("mods"):
        require(run.a_mod["title"] in _page_of_mod(run).text, f"{run.a_mod['url']}: the title of the mod is missing.")


@check("C-PAGE-14", part="read", added=True)
def addresses_in_other_capitals_redirect(run: Run) -> None:
    """And a 404 page has a search field."""
    expect_redirect(run, "/modhub", "/Modhub")
    page = HtmlText(run.service.get("/Modhub/unheard-of", **_ENGLISH).expect(404).text)
    require("q" in page.fields(), "/Modhub/unheard-of: no search field.")
    for feature, path in (("modhub_builds", "/Modhub/app"), ("modhub_wiki", "/Modhub/wiki")):
        if feature in run.features:
            expect_redirect(run, path, path.replace("app", "App").replace("wiki", "Wiki"))


@check("C-PAGE-15", "C-SET-7", part="read", added=True)
def pages_name_their_site(run: Run) -> None:
    """Its name in titles and in the manifest, its icon for home screens, its colour."""
    manifest = run.service.get("/manifest.webmanifest").expect(200).document()
    for path in _PAGES:
        page = read_page(run, path)
        require(page.title.endswith(f"· {manifest['name']}"), f"{path}: the title is {page.title!r}.")
        for relation in ("apple-touch-icon", "manifest", "icon"):
            require(page.head_links(relation), f"{path}: no <link rel={relation}>.")
        require(page.meta("theme-color"), f"{path}: no theme-color.")
        icon = page.head_links("apple-touch-icon")[0]["href"]
        run.service.head(icon).expect(200)


@check("T-H5", "C-PAGE-31", part="read", added=True)
def scripts_run_by_a_nonce_only(run: Run) -> None:
    """The policy of each page names its own; nothing runs inline. The footer has the form of the theme."""
    for path in (*_PAGES, run.a_mod["url"]):
        reply = run.service.get(path, **_ENGLISH).expect(200)
        policy = reply.header("Content-Security-Policy")
        for directive in ("default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"):
            require(directive in policy, f"{path}: expected {directive} in the policy, came {policy!r}.")
        require("unsafe" not in policy, f"{path}: the policy is {policy!r}.")
        page = HtmlText(reply.text)
        for script in page.all("script"):
            nonce = script.get("nonce", "")
            require(nonce and f"'nonce-{nonce}'" in policy, f"{path}: a script without the nonce of the policy.")
        inline = [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
        require(not inline, f"{path}: the attributes {inline}.")
        require({"theme", "language"} & page.fields(), f"{path}: no form for the theme.")
        require("/Modhub/preferences" in {form.get("action") for form in page.all("form")}, f"{path}: no preferences.")


@check("C-PAGE-33", part="read", added=True)
def the_chosen_language_wins(run: Run) -> None:
    """Over ``Accept-Language``; the page says in ``lang`` which it is."""
    for chosen, other in (("de", "en"), ("en", "de")):
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        body = f"language={chosen}".encode()
        choice = run.service.call("POST", "/Modhub/preferences", body, form, repeatable=True).expect(303)
        cookie = choice.header("Set-Cookie").partition(";")[0]
        if not cookie:
            raise Skipped(f"the service does not speak {chosen}")
        page = run.service.get("/Modhub", cookie=cookie, accept_language=other).expect(200)
        require_equal(f"the language with {cookie}", chosen, HtmlText(page.text).all("html")[0].get("lang"))


@check("C-PAGE-31", part="read", added=True)
def nobody_gets_a_cookie_unasked(run: Run) -> None:
    """A cookie exists only after a choice."""
    for path in (*_PAGES, "/Modhub/feed", "/sitemap.xml"):
        require_equal(f"Set-Cookie of {path}", "", run.service.get(path).expect(200).header("Set-Cookie"))


@check("C-PAGE-32", part="read", added=True)
def the_form_of_the_theme_leads_back(run: Run) -> None:
    """303 to the path of ``Referer``, never to another site; a foreign ``Origin`` is 403."""
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    here, elsewhere = f"{run.service.url}/Modhub?q=a", "https://elsewhere.example/Modhub/doc"
    for referer in (here, elsewhere):
        headers = {**form, "Referer": referer}
        reply = run.service.call("POST", "/Modhub/preferences", b"theme=dark", headers, repeatable=True).expect(303)
        location = urlsplit(reply.header("Location"))
        require(location.netloc != "elsewhere.example", f"{reply.call}: leads to {reply.header('Location')}.")
        require("dark" in reply.header("Set-Cookie"), f"{reply.call}: no cookie.")
    headers = {**form, "Origin": "https://elsewhere.example"}
    run.service.call("POST", "/Modhub/preferences", b"theme=dark", headers, repeatable=True).expect(403)


@check("C-PAGE-19", part="read", added=True)
def the_list_names_its_feeds_and_its_call(run: Run) -> None:
    """Of exactly its filter."""
    query = urlencode({"q": "a b", "sort": "top"})
    page = read_page(run, f"/Modhub?{query}")
    require({"q", "game", "sort"} <= page.fields(), f"/Modhub?{query}: a field of the search is missing.")
    require(any(attributes.get("id") == "results" for _, attributes in page.tags), f"/Modhub?{query}: no #results.")
    links = page.links()
    for path in ("/Modhub/feed?", "/Modhub/feed.json?", "/api/modhub?"):
        matching = [link for link in links if link.startswith(path)]
        require(any("q=a" in link and "sort=top" in link for link in matching), f"no link to {path} with the filter.")


@check("C-PAGE-20", part="read", added=True)
def an_empty_list_says_what_was_looked_for(run: Run) -> None:
    """And a page beyond the last leads to the last."""
    page = read_page(run, "/Modhub?q=zqxjkvbwpqzx")
    require("zqxjkvbwpqzx" in page.text, "the empty list does not name the search.")
    beyond = read_page(run, "/Modhub?page=900000")
    if run.mods:
        require(
            any("page" in link or link.startswith("/Modhub") for link in beyond.links()), "no link to the last page."
        )


@check("C-FRONT-1", "C-FRONT-8", part="read", added=True)
def any_query_shows_the_list_alone(run: Run) -> None:
    """``/Modhub`` without one is the front, which has the list beneath; a game has a page of its own."""
    mod = run.find_mod("a game", lambda mod: mod["games"])
    require(run.a_mod["url"] in read_page(run, "/Modhub").links(), "/Modhub: the mod that changed last is not there.")
    page = read_page(run, f"/Modhub?{urlencode({'game': mod['games'][0]})}")
    require(mod["url"] in page.links(), f"the page of the game {mod['games'][0]!r} has not the mod {mod['id']}.")
    require(any("/Modhub/feed?" in link for link in page.links()), "the page of a game has no feed.")


@check("C-PAGE-23", part="read", added=True)
def a_mod_can_be_opened_in_the_app(run: Run) -> None:
    """``modhub://install/{guid}``, unless the operator turned it off or renamed it."""
    links = [link for link in _page_of_mod(run).links() if "://install/" in link]
    if not links:
        raise Absent("the deployment has no link to an app")
    require_equal("the GUID of the link to the app", run.a_mod["guid"].lower(), links[0].rpartition("/")[2].lower())


@check("C-PAGE-24", part="read", added=True)
def a_mods_page_has_its_guid_and_digest(run: Run) -> None:
    """And ``aggregateRating`` only if there are votes."""
    mod = run.code_mod
    page = read_page(run, mod["url"])
    digest = run.a_file.header("ETag").strip('"')
    require(mod["guid"] in page.text and digest in page.text, f"{mod['url']}: GUID or SHA-256 is missing.")
    votes = run.service.get(f"/api/modhub/{mod['id']}/vote").document()
    rated = any(attributes.get("itemprop") == "aggregateRating" for _, attributes in page.tags)
    require_equal("whether there is a rating", votes["ups"] + votes["downs"] > 0, rated)


@check("C-PRO-1", "C-READ-9", part="read", added=True)
def a_mods_page_leads_to_its_download(run: Run) -> None:
    for mod in run.mods[:2]:
        links = read_page(run, mod["url"]).links()
        addresses = {find_asset(mod, "code")["url"], f"/api/modhub/{mod['id']}/download"}
        require(addresses & links, f"{mod['url']}: no link to its download.")


@check("C-PAGE-37", part="read", added=True)
def authors_have_a_page(run: Run) -> None:
    """Which lists their mods; that of nobody is a 404."""
    run.service.get(f"/Modhub/by/{UNKNOWN_ID}").expect(404)
    links = [link for link in _page_of_mod(run).links() if re.fullmatch("/Modhub/by/[0-9]+", link)]
    if not links:
        raise Absent("the deployment shows no authors")
    require(run.a_mod["url"] in read_page(run, links[0]).links() or run.mods[20:], f"{links[0]} lacks its mod.")


@check("C-PAGE-85", part="read", added=True)
def shared_links_have_a_title_and_a_picture(run: Run) -> None:
    """Open Graph tags with absolute addresses."""
    pages = [(run.a_mod["url"], run.a_mod["title"]), ("/Modhub?sort=new", "")]
    for path, title in pages:
        page = read_page(run, path)
        require(title in page.meta("og:title"), f"{path}: og:title is {page.meta('og:title')!r}.")
        for name in ("og:url", "og:image"):
            value = page.meta(name)
            require(value.startswith(("https://", "http://")) or not value, f"{path}: {name} is {value!r}.")
        require(page.meta("og:url") and page.meta("twitter:card"), f"{path}: og:url or twitter:card is missing.")


@check("C-PIC-4", "C-PIC-10", part="read", added=True)
def pages_name_all_sizes_of_a_picture(run: Run) -> None:
    """Smallest first, in ``srcset``; each image is a link to itself as uploaded."""
    mod = run.find_mod("an image", lambda mod: find_asset(mod, "image"))
    page = read_page(run, mod["url"])
    for asset in mod["assets"]:
        if asset["kind"] == "image":
            require(asset["url"] in page.links(), f"{mod['url']}: no link to {asset['url']}.")
    sets = [image["srcset"] for image in page.all("img") if "srcset" in image]
    for sources in sets:
        widths = [int(entry.split()[1].rstrip("w")) for entry in sources.split(",") if entry.split()[1:]]
        require_equal("the widths of a srcset", sorted(widths), widths)


@check("C-PIC-3", "C-PIC-1", part="read", added=True)
def a_picture_is_kept_for_a_day_at_most(run: Run) -> None:
    """As WebP or JPEG, and never immutable."""
    mod = run.find_mod("an image", lambda mod: find_asset(mod, "image"))
    page = read_page(run, mod["url"])
    sources = " ".join(attributes.get("srcset", "") for _, attributes in page.tags)
    addresses = re.findall(r"/Modhub/picture/\S+", sources)
    if not addresses:
        raise Skipped("no picture has been made")
    for address in dict.fromkeys(addresses[:6]):
        reply = run.service.head(address.rstrip(",")).expect(200)
        age = re.search(r"max-age=([0-9]+)", reply.header("Cache-Control"))
        require(age is None or int(age[1]) <= 86400, f"{address}: kept for {reply.header('Cache-Control')}.")
        require("immutable" not in reply.header("Cache-Control"), f"{address}: immutable.")
        require(reply.media_type in {"image/webp", "image/jpeg"}, f"{address}: {reply.media_type}.")
