"""Requests of strangers, no two of the same shape: what a service must not remember of each.

Every part that a caller chooses varies: addresses, the words of searches, GUIDs, and each header that is read.
"""

import json
import random
import string
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

Chance = random.Random

LENGTHS: Final = (20, 4_000, 50_000)
"""Characters of segments and headers; the server accepts heads of 64 KB."""
SENT_GAMES: Final = ("", "Skyward", "Deep Rock", "no such game")
SENT_SORTS: Final = ("new", "top", "downloads", "", "no such order")
SENT_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE")
PARENTS: Final = ("", "/api", "/api/modhub", "/api/auth", "/Modhub", "/Modhub/mine", "/Modhub/Wiki", "/Modhub/file")
READS: Final = ("/Modhub", "/Modhub/1", "/Modhub/Wiki", "/Modhub/feed", "/api/modhub", "/api/modhub/1")


class Shape(NamedTuple):
    """A request: its method, its address and what it sends."""

    method: str
    path: str
    headers: Mapping[str, str] = {}
    body: bytes = b""


def letters(chance: Chance, length: int) -> str:
    """Return a word."""
    return "".join(chance.choices(string.ascii_lowercase, k=length))


def long_word(chance: Chance) -> str:
    """Return hexadecimal digits of one of `LENGTHS`."""
    return chance.randbytes(chance.choice(LENGTHS) // 2).hex()


def search_of_many_words(chance: Chance) -> str:
    """Return up to a hundred words, short and long ones: as many as fit into the 200 characters of a search."""
    lengths = chance.choice(((1,), (2,), (3,), (1, 2, 3), (3, 4, 5, 6), (2, 8), (1, 20)))
    return " ".join(letters(chance, chance.choice(lengths)) for _ in range(chance.randint(1, 100)))


def list_search(chance: Chance) -> Shape:
    """Return a request of the list with random words and filters."""
    options = {
        "game": chance.choice(SENT_GAMES),
        "sort": chance.choice(SENT_SORTS),
        "page": str(chance.randint(1, 10**6)),
    }
    options["size"] = str(chance.randint(1, 100))
    sent = {name: value for name, value in options.items() if value and chance.random() < 0.7}
    path = chance.choice(("/Modhub", "/api/modhub"))
    return Shape("GET", f"{path}?{urlencode({'q': search_of_many_words(chance), **sent})}")


def wiki_search(chance: Chance) -> Shape:
    """Search the wiki."""
    return Shape("GET", "/Modhub/Wiki/search?" + urlencode({"q": search_of_many_words(chance)}))


def unknown_address(chance: Chance) -> Shape:
    """Ask for an address that nobody has, by any method."""
    odd = chance.choice(("", "@@", "%C3%A4", "..", "%00", "++", "*"))
    method = chance.choice((*SENT_METHODS, letters(chance, 9).upper()))
    return Shape(method, f"{chance.choice(PARENTS)}/{odd}{long_word(chance)}{chance.choice(('', '/below'))}")


def unknown_thing(chance: Chance) -> Shape:
    """Read what is not there, at an address of a known kind."""
    number, word, guid = chance.randint(1, 10**17), long_word(chance), uuid.UUID(int=chance.getrandbits(128))
    paths = [
        f"/api/modhub/{number}",
        f"/api/modhub/{number}/changelog",
        f"/api/modhub/{number}/{word}",
        f"/api/modhub/changes?since={number}&feed={word}",
        f"/api/modhub/guid/{guid}",
        f"/Modhub/{number}",
        f"/Modhub/app/{word[:32]}/{number}",
        f"/Modhub/by/{number}",
        f"/Modhub/file/{number}",
        f"/Modhub/game-icon/{number}",
        f"/Modhub/picture/{number}/{word}",
        f"/Modhub/static/{word}.js",
        f"/Modhub/Wiki/{word[:90]}/{word[:90]}",
    ]
    return Shape("GET", chance.choice(paths))


def many_guids(chance: Chance) -> Shape:
    """Look up, compare or plan mods."""
    guids = [str(uuid.UUID(int=chance.getrandbits(128))) for _ in range(chance.randint(1, 100))]
    bodies: list[tuple[str, Any]] = [
        ("lookup", {"guids": guids}),
        ("updates", {"mods": [{"guid": guid, "version": letters(chance, 5)} for guid in guids]}),
        ("plan", {"mods": guids}),
        ("plan", {"mods": guids[:1], letters(chance, 50): long_word(chance)}),
    ]
    name, body = chance.choice(bodies)
    return Shape("POST", f"/api/modhub/{name}", {"Content-Type": "application/json"}, json.dumps(body).encode())


HEADERS: Final[Mapping[str, Callable[[Chance], str]]] = {
    "Accept": lambda chance: f"text/{letters(chance, 9)};q=0.{chance.randint(0, 999)}, {long_word(chance)}/*",
    "Accept-Encoding": lambda chance: f"gzip;q=0.{chance.randint(1, 999)}, {long_word(chance)}",
    "Accept-Language": lambda chance: f"{letters(chance, 2)}-{letters(chance, 2)}, {long_word(chance)};q=0.5",
    "Authorization": lambda chance: f"{chance.choice(('Bearer', 'Basic', letters(chance, 9)))} {long_word(chance)}",
    "Content-Type": lambda chance: f"text/{letters(chance, 9)}; charset={letters(chance, 12)}",
    "Cookie": lambda chance: f"{letters(chance, 9)}={long_word(chance)}; modhub-language={letters(chance, 9)}",
    "Host": lambda chance: f"{letters(chance, 60)}.{letters(chance, 60)}:{chance.randint(1, 65535)}",
    "If-Modified-Since": lambda chance: letters(chance, 30),
    "If-None-Match": lambda chance: f'"{long_word(chance)}", W/"{letters(chance, 9)}"',
    "Origin": lambda chance: f"https://{letters(chance, 60)}.example",
    "Range": lambda chance: f"bytes={chance.randint(0, 10**9)}-{chance.randint(0, 10**9)}",
    "Referer": lambda chance: f"https://{letters(chance, 60)}.example/{long_word(chance)}",
    "User-Agent": long_word,
    "X-Forwarded-For": lambda chance: f"10.0.{chance.randint(0, 255)}.{chance.randint(0, 255)}",
    "X-Request-Id": long_word,
}
"""A value of each header that is read, or that other services read."""


def odd_header(chance: Chance) -> Shape:
    """Read a page or list with a header of any value."""
    name = chance.choice(sorted(HEADERS))
    return Shape("GET", chance.choice(READS), {name: HEADERS[name](chance)})


def odd_header_elsewhere(chance: Chance) -> Shape:
    """Send such a header with any other request."""
    shape = chance.choice((list_search, wiki_search, unknown_address, unknown_thing, many_guids))(chance)
    name = chance.choice(sorted(HEADERS.keys() - {"Content-Type"}))
    return shape._replace(headers={**shape.headers, name: HEADERS[name](chance)})


KINDS: Final[tuple[Callable[[Chance], Shape], ...]] = (
    list_search,
    wiki_search,
    unknown_address,
    unknown_thing,
    many_guids,
    odd_header,
    odd_header_elsewhere,
)
