"""The list of mods: its fields, and parameters that are never refused."""

import unicodedata
from typing import Any
from urllib.parse import urlencode

from modhub_client.verify.checks import check
from modhub_client.verify.replies import Skipped, require, require_equal
from modhub_client.verify.run import Run
from modhub_client.verify.shapes import FLAG, MOD, NUMBER, list_of, object_of, require_shape

_NONSENSE = "zqxjkvbwpqzx"


def read_list(run: Run, **parameters: object) -> dict[str, Any]:
    """The list with these parameters."""
    reply = run.service.get(f"/api/modhub?{urlencode(parameters)}")
    return reply.expect_document()


def guids_of(document: dict[str, Any]) -> list[str]:
    """The GUIDs of a list, in its order."""
    return [mod["guid"] for mod in document["mods"]]


def _require_found(run: Run, mod: dict[str, Any], **query: str) -> dict[str, Any]:
    """The list of a search, which has this mod among its first hundred, or more than those."""
    document = read_list(run, **query, size=100)
    sentence = f"{urlencode(query)}: expected the mod {mod['title']!r}."
    require(document["more"] or mod["guid"] in guids_of(document), sentence)
    return document


def _some_word(run: Run) -> tuple[dict[str, Any], str]:
    """A mod and a word of its title with letters that fold."""
    for mod in run.mods:
        for word in mod["title"].split():
            if len(word) > 3 and word.isascii() and word.isalpha():
                return mod, word
    raise Skipped("no mod has a word of four letters in its title")


@check("C-LIST-1")
def a_list_has_its_fields_and_counts(run: Run) -> None:
    """``count`` is that of the page, ``total`` that of all matches, ``more`` whether there are others."""
    shape = object_of(count=NUMBER, total=NUMBER, page=NUMBER, size=NUMBER, more=FLAG, mods=list_of(MOD))
    whole, first = read_list(run, size=100), read_list(run, size=2)
    for document in (whole, first):
        require_shape("the list", shape, document)
        require_equal("count", len(document["mods"]), document["count"])
        require_equal("more", document["total"] > document["size"], document["more"])
    require_equal("total, whatever the size is", whole["total"], first["total"])
    require(
        whole["more"] or whole["total"] == whole["count"], "total: expected the number of mods of a list without more."
    )


@check("C-LIST-1")
def a_list_has_published_mods_only(run: Run) -> None:
    """And each of them can be read."""
    for mod in run.mods:
        require_equal(f"published of {mod['guid']}", True, mod["published"])
    for mod in run.mods[:3]:
        run.service.get(f"/api/modhub/{mod['id']}").expect(200)


@check("C-LIST-2", added=True)
def odd_parameters_of_a_list_become_defaults(run: Run) -> None:
    """An unknown order is the newest first."""
    cases = [
        ("page=0", "page", 1),
        ("page=-3", "page", 1),
        ("page=two", "page", 1),
        ("page=", "page", 1),
        ("size=0", "size", 1),
        ("size=-1", "size", 1),
        ("size=many", "size", 20),
        ("size=101", "size", 100),
        (f"size={'9' * 5000}", "size", 100),
        ("sort=unheard-of", "size", 20),
        ("q=%ff%00", "page", 1),
        ("unheard=of", "size", 20),
    ]
    for query, field, value in cases:
        document = run.service.read(f"/api/modhub?{query}")
        require_equal(f"{field} of ?{query}", value, document[field])
    require_equal("the order of sort=unheard-of", guids_of(read_list(run)), guids_of(read_list(run, sort="unheard-of")))


@check("C-LIST-2")
def a_list_names_the_values_that_were_used(run: Run) -> None:
    """Those that were asked for, too."""
    document = read_list(run, page=2, size=3)
    require_equal("page and size", (2, 3), (document["page"], document["size"]))
    require(document["count"] <= 3, "count: expected at most size.")


@check("C-LIST-2", added=True)
def a_page_past_the_end_is_empty(run: Run) -> None:
    """And still knows the total."""
    document = read_list(run, page=900_000_000, size=100)
    require_equal("a page past the end", (0, [], False), (document["count"], document["mods"], document["more"]))
    require_equal("its total", read_list(run, size=1)["total"], document["total"])


@check("C-LIST-4", added=True)
def a_search_matches_parts_of_words_in_any_order(run: Run) -> None:
    """A substring is enough, and each has to occur: in the title or in one game's name."""
    mod, word = _some_word(run)
    _require_found(run, mod, q=word[1:-1])
    _require_found(run, mod, q=" ".join(reversed(mod["title"].split()))[:200])
    for query in (_NONSENSE, f"{word} {_NONSENSE}"):
        require_equal(f"a search for {query}", 0, read_list(run, q=query)["total"])


@check("C-LIST-4", added=True)
def a_search_is_cut_after_200_characters(run: Run) -> None:
    """What follows does not count."""
    _, word = _some_word(run)
    filled = f"{word} " * 60
    require_equal(
        "the total of a search with nonsense after 200 characters",
        read_list(run, q=word)["total"],
        read_list(run, q=f"{filled[: 199 - 199 % (len(word) + 1)]:<200}{_NONSENSE}")["total"],
    )


@check("C-LIST-5", added=True)
def a_search_folds_letters_that_are_no_accents(run: Run) -> None:
    """Each letter and what stands for it find the same."""
    for letter, plain in (
        ("ß", "ss"),
        ("æ", "ae"),
        ("œ", "oe"),
        ("ø", "o"),
        ("đ", "d"),
        ("ł", "l"),
        ("ħ", "h"),
        ("ı", "i"),
        ("þ", "th"),
        ("ð", "d"),
    ):
        require_equal(f"the total of q={letter}", read_list(run, q=plain)["total"], read_list(run, q=letter)["total"])


@check("C-LIST-4", added=True)
def percent_and_underscore_are_ordinary_characters(run: Run) -> None:
    """A search for one has only mods with it."""
    for character in "%_":
        for mod in read_list(run, q=character, size=100)["mods"]:
            texts = unicodedata.normalize("NFKD", " ".join([mod["title"], *mod["games"]]))
            require(character in texts, f"q={character}: the mod {mod['title']!r} has none.")


@check("C-LIST-8")
def the_newest_are_those_that_changed_last(run: Run) -> None:
    """Of the same moment the higher id first."""
    order = [(mod["updatedAt"], mod["id"]) for mod in read_list(run, sort="new", size=100)["mods"]]
    require_equal("the order of sort=new", sorted(order, reverse=True), order)


@check("C-LIST-8", added=True)
def the_best_have_most_votes(run: Run) -> None:
    """Ups minus downs, then as the newest. The interface does not say how votes are read."""
    order = []
    for mod in read_list(run, sort="top", size=10)["mods"]:
        votes = run.service.read(f"/api/modhub/{mod['id']}/vote")
        order.append((votes["ups"] - votes["downs"], mod["updatedAt"], mod["id"]))
    require_equal("the order of sort=top", sorted(order, reverse=True), order)


@check("C-LIST-8", added=True)
def pages_of_a_list_have_each_mod_once(run: Run) -> None:
    """In the order of the whole list."""
    for sort in ("new", "top"):
        whole = guids_of(read_list(run, sort=sort, size=21))
        paged = [guid for page in (1, 2, 3) for guid in guids_of(read_list(run, sort=sort, size=7, page=page))]
        require_equal(f"three pages of sort={sort}", whole, paged)


@check("C-FRONT-7", added=True)
def orders_and_filters_of_pages_are_unknown_to_the_api(run: Run) -> None:
    """``sort=popular``, ``sort=downloads`` and ``tag`` change nothing there."""
    expected = guids_of(read_list(run))
    for query in ({"sort": "popular"}, {"sort": "downloads"}, {"tag": "unheard-of"}):
        require_equal(f"the list with {query}", expected, guids_of(read_list(run, **query)))
