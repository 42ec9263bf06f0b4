"""Subjects of `mesh why`: one kind and one well-formed name."""

import pytest

from mesh.errors import LocalError
from mesh.reasons.what import What


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("", "x"), ("planet", "x"), ("Topic", "k"), ("topic", ""), ("topic", "a/#"), ("topic", "k" * 513),
        ("topic", "\ud800"), ("node", "a b"), ("node", ""), ("message", "1"), ("message", "ab" * 16 + ":0x"),
        ("address", "a/#"), ("queue", ""), ("queue", "q" * 201), ("client", ""), ("client", "a b"),
        ("client", "/node/x"), ("client", "client/joe/session/0"),
        ("tx", "x"), ("tx", "a/"), ("tx", "a/b/c"), ("tx", "a b/c"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_name(kind: str, text: str) -> None:
    with pytest.raises(LocalError) as caught:
        What.of(kind, text)
    assert caught.value.hint


def test_a_client_may_be_named_in_short() -> None:
    for text, name in (("joe", "joe"), ("joe/1", "client/joe/session/1"), ("/node/a/client/joe/-9", "")):
        what = What.of("client", text)
        assert what.text == (name or "/node/a/client/joe/session/-9")
        assert what.client.client == "joe"


def test_a_domain_that_cannot_be_is_refused() -> None:
    with pytest.raises(LocalError):
        What.of("topic", "k", "d" * 1000)
