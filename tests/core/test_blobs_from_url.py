"""The setting ``modhub.storage``: valid stores, and the errors of invalid ones."""

from pathlib import Path

import pytest

from modhub.blobs import open_local_store, storage_from_url


def open_store(value):
    return storage_from_url(value, {"file": open_local_store}, {})


@pytest.mark.parametrize(
    ("written", "name"),
    [("é", "é"), ("%C3%A9", "é"), ("50%25", "50%")],
)
def test_percent_decoding(tmp_path, written, name):
    assert open_store(f"file://{tmp_path}/{written}") is not None
    assert (tmp_path / name / "staging").is_dir()


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("s3://bucket/prefix", "not a supported URL"),
        ("file:/var/files", "not a supported URL"),
        ("file://var/files", "a relative path or a host name"),
        ("file:///", "not a valid folder name"),
        ("file:///a%00b", "not a valid folder name"),
        ("file:///a%ff", "not valid UTF-8"),
        ("file:///a?b", "%3F"),
        ("file:///a#b", "%23"),
    ],
)
def test_what_is_refused_with_a_sentence(value, sentence, monkeypatch):
    monkeypatch.setattr(Path, "mkdir", lambda *_a, **_k: pytest.fail("nothing may be made"))
    with pytest.raises(ValueError, match=r"\Amodhub\.storage: ") as caught:
        open_store(value)
    assert sentence in str(caught.value)
    assert str(caught.value).endswith(".")
