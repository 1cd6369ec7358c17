"""What is a link, and what is a licence."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modhub.base.errors import ApiError
from modhub_profiles.licenses import clean_license, other_license, words_of
from modhub_profiles.limits import LICENSE, MAX_LINK, STORED_LICENSE
from modhub_profiles.web_links import clean_link, host_of

LONG = "https://example.org/" + "x" * (MAX_LINK - 20)


@pytest.mark.parametrize(
    ("typed", "stored", "host"),
    [
        ("  HTTPS://Example.ORG/Wiki?a=1#b ", "https://example.org/Wiki?a=1#b", "example.org"),
        ("https://example.org:443/a", "https://example.org/a", "example.org"),
        ("https://example.org:8443/a", "https://example.org:8443/a", "example.org:8443"),
        ("https://bücher.example/ü", "https://xn--bcher-kva.example/%C3%BC", "xn--bcher-kva.example"),
        ("https://example.org/a%20b<\">'`{}|^", "https://example.org/a%20b%3C%22%3E'%60%7B%7D%7C%5E", "example.org"),
        ("https://example.org/\u202egnp.exe", "https://example.org/gnp.exe", "example.org"),
        (LONG, LONG, "example.org"),
        (" \n", "", ""),
    ],
)
def test_a_link_is_stored_in_ascii(typed, stored, host):
    # C-PRF-2
    assert clean_link(typed, "source") == stored
    assert host_of(stored) == host
    assert clean_link(stored, "source") == stored


@pytest.mark.parametrize(
    "typed",
    [
        "http://example.org",
        "javascript:alert(1)",
        "https:example.org",
        "https://ada:secret@example.org/",
        "https://example.org\\@evil.example",
        "https://exa mple.org",
        "https://198.51.100.7/",
        "https://0x7f.1/",
        "https://example.0x7f/",
        "https://[::1]:8443/",
        "https://wiki.localhost/",
        "https://intranet/",
        "https://example.org:99999/",
        "https://example..org/",
        "https://xn--a/",
        "https://①②⑦.0.0.1/",
        "https://example.org/" + "x" * MAX_LINK,
        "https://example.org/" + "ü" * 40,
    ],
)
def test_what_is_no_link_is_refused(typed):
    # C-PRF-2
    with pytest.raises(ApiError) as refused:
        clean_link(typed, "report")
    assert (refused.value.status, refused.value.values["field"]) == (400, "report")
    assert ("user name or password" in refused.value.message) is ("@" in typed and "\\" not in typed)


@given(st.text(max_size=60) | st.text(max_size=40).map("https://{}".format))
def test_no_link_has_more_than_its_host(typed):
    # C-PRF-2
    with suppress(ApiError):
        stored = clean_link(typed, "source")
        host = host_of(stored)
        assert stored.isascii()
        assert len(stored) <= MAX_LINK
        assert not stored or (stored.startswith("https://") and "@" not in host and "." in host)
        assert clean_link(stored, "source") == stored


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        (" MIT or apache-2.0 ", "MIT OR Apache-2.0"),
        (
            "(gpl-2.0-or-later with classpath-exception-2.0) AND cc0-1.0",
            "(GPL-2.0-or-later WITH Classpath-exception-2.0) AND CC0-1.0",
        ),
        ("apache-2.0+ OR CDDL-1.0+", "Apache-2.0+ OR CDDL-1.0+"),
        ("GPL-2.0-with-classpath-exception", "GPL-2.0-with-classpath-exception"),
        ("LicenseRef-MIT-Discord", "LicenseRef-MIT-Discord"),
        ("OTHER:Ask me first", "other: Ask me first"),
        ("other:", ""),
    ],
)
def test_a_license_is_an_expression_or_words(typed, stored):
    # C-PRF-3
    assert clean_license(typed) == stored
    assert clean_license(stored) == stored


@pytest.mark.parametrize(
    "typed",
    [
        "MIT OR",
        "mit OR nonsense",
        "((",
        "MIT WITH eCos-2.0",
        "MIT WITH LicenseRef-mine",
        "Classpath-exception-2.0",
        "LicenseRef-all_rights",
        "\uff2d\uff29\uff34",
        " or ".join(["MIT"] * 60),
        "MIT" + " " * LICENSE + "OR GPL-3.0-only",
        "other: " + "x" * (LICENSE + 1),
    ],
)
def test_what_is_no_license_is_refused(typed):
    # C-PRF-3
    with pytest.raises(ApiError) as refused:
        clean_license(typed)
    assert (refused.value.status, refused.value.values["field"]) == (400, "license")
    assert "at most" in refused.value.message or "or “other: ” and your words" in refused.value.message


@pytest.mark.parametrize("name", ["AGPL-1.0", "GFDL-1.3", "GPL-2.0", "LGPL-2.1"])
def test_an_old_name_of_gnu_is_stored_as_the_new_one(name):
    # C-PRF-3
    assert clean_license(f"({name} OR {name}+)") == f"({name}-only OR {name}-or-later)"
    assert clean_license(f"LicenseRef-{name}") == f"LicenseRef-{name}"


WORDS = st.sampled_from(["mit", "AND", "or", "with", "(", ")", "+", ",", "gpl-2.0", "not", "&", "|"])


@given(st.text(max_size=80) | st.lists(WORDS).map(" ".join))
def test_no_license_breaks_the_parser(typed):
    # C-PRF-3
    with suppress(ApiError):
        assert len(clean_license(typed)) <= STORED_LICENSE


def test_words_are_told_from_expressions():
    # C-PRF-3
    assert words_of(other_license("x" * LICENSE)) == "x" * LICENSE
    assert words_of("MIT") == words_of("") == ""
