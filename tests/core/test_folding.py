"""Folding of game names and search text, and the words of a search."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modhub.content.folding import fold_game, fold_search, search_words
from modhub.content.text import line

ANY = st.text(st.characters(exclude_categories=[]), max_size=60)


@pytest.mark.parametrize(
    ("value", "folded"),
    [
        ("Pokémon", "pokemon"),
        ("POKE\u0301MON", "pokemon"),
        ("Straße STRASSE ẞ", "strasse strasse ss"),
        ("Æsir œuvre Ørn Đà Łódź Ħal ısı Þór Ðað", "aesir oeuvre orn da lodz hal isi thor dad"),
        ("İSTANBUL", "istanbul"),
        ("ﬁne ℌ Ⅷ ﬀ", "fine h viii ff"),
        ("Ελλάς", "ελλασ"),
        ("100%_\\", "100%_\\"),
        ("a\x00b\ud800c", "abc"),
        ("Don’t “say” «no» ‹x› 6′ 2″ ﹘", 'don\'t "say" "no" \'x\' 6\' 2" -'),
        ("a‐b‑c‒d–e—f―g−h", "a-b-c-d-e-f-g-h"),
        ("so\u00adft \u200bze\u200cro\u200d \u2060❤\ufe0f", "soft zero ❤"),
        ("ガード ポール ｶﾞ ヴ", "ガード ポール ガ ヴ"),
        ("ม้า น้ำ ກີ້ ខ្មែរ", "ม้า น้\u0e4dา ກີ້ ខ្មែរ"),
    ],
)
def test_the_search_fold(value, folded):
    # C-LIST-5
    assert fold_search(value) == folded


@pytest.mark.parametrize(
    ("value", "other", "same"),
    [
        ("Portal", "PORTAL", True),
        ("Portal", "  portal\t", True),
        ("Straße", "STRASSE", True),
        ("Pok\u00e9mon", "POKE\u0301MON", True),
        ("\u1f82", "\u1f8a", True),
        ("Portal 2", "Portal  2", False),
        ("Pokémon", "Pokemon", False),
    ],
)
def test_games_differ_by_accents_and_not_by_case_or_outer_spaces(value, other, same):
    # C-MOD-6
    assert (fold_game(value) == fold_game(other)) is same


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (" \t\n ", []),
        ("Foo  bár\u3000BAZ", ["foo", "bar", "baz"]),
        ("a\x00b \ud800 c", ["ab", "c"]),
        ("x \u0301 ´ y", ["x", "y"]),
        ("a\nb\u2028c", ["a", "b", "c"]),
        ("x" * 199 + " yz", ["x" * 199]),
        ("x" * 199 + "yz", ["x" * 199 + "y"]),
        (" " * 200 + "x", []),
        ("ß" * 250, ["ss" * 200]),
    ],
)
def test_a_query_is_cut_split_and_folded(query, words):
    # C-LIST-4
    assert search_words(query) == words


@given(value=ANY)
@settings(deadline=None)
def test_folding_twice_is_folding_once(value):
    for fold in (fold_search, fold_game):
        folded = fold(value)
        folded.encode()
        assert fold(folded) == folded
        assert "\n" in value or "\n" not in folded
    assert all(word and word == fold_search(word) for word in search_words(value))


@given(value=ANY)
@settings(deadline=None)
def test_a_title_is_found_by_its_own_words(value):
    folded = fold_search(line(value[:200], 200))
    assert all(word in folded for word in search_words(value))


def test_ten_thousand_marks_are_folded_in_time():
    # T-D5
    began = time.thread_time()
    marks = "\u0301\u0323" * 5_000 + "\u0f73" * 5_000 + "\u0344\u0301" * 5_000
    assert fold_search("a" + marks) == "a"
    assert fold_game("A" + marks).startswith("\u1ea1")
    assert search_words(marks) == []
    assert time.thread_time() - began < 5
