"""Messages that filters let through, and filters that are refused before any message arrives."""

from importlib.metadata import EntryPoint
from types import SimpleNamespace

import pytest

from mesh.errors import BadFilter
from mesh.mapping import filters
from mesh.mapping.filters import GROUP, MAPPERS, Filter, made
from tools.draw_rules import Message

LET_THROUGH = [
    ("ContentLength", "4", b"abc", True),
    ("ContentLength", " 3 ", b"abc", False),
    ("ContentLength", "1", b"", True),
    ("ContentGlob", "*loose*", b"the cat is loose", True),
    ("ContentGlob", "*loose*", b"loose", True),
    ("ContentGlob", "*loose*", b"lose", False),
    ("ContentGlob", "loose", b"loose ", False),
    ("ContentGlob", "a?c", b"abc", True),
    ("ContentGlob", "a?c", b"ac", False),
    ("ContentGlob", "?", "é".encode(), True),
    ("ContentGlob", "a*b*c", b"axxbyyc", True),
    ("ContentGlob", "a*b*c", b"ac", False),
    ("ContentGlob", "aa*aa", b"aaa", False),
    ("ContentGlob", "*", b"", True),
    ("ContentGlob", "*?b*", b"b", False),
    ("ContentGlob", "*?b*", b"ab", True),
    ("ContentGlob", "*ab*ab*", b"ab", False),
    ("ContentGlob", "*b", b"\xffb", True),
]


@pytest.mark.parametrize(("kind", "text", "content", "is_let"), LET_THROUGH)
def test_a_filter_lets_through_what_the_page_says(kind: str, text: str, content: bytes, is_let: bool) -> None:
    assert made(Filter(kind, text))(Message("k", content=content)) is is_let


@pytest.mark.parametrize(
    ("type_", "is_let"), [("text/xml", True), ("TEXT/plain", True), ("", False), ("image/png", False)]
)
def test_a_type_is_that_of_the_header(type_: str, is_let: bool) -> None:
    assert made(Filter("ContentType", "text/*"))(Message("k", type=type_)) is is_let


@pytest.mark.parametrize(
    ("kind", "text", "version", "says"),
    [
        ("ContentLength", "many", "1.0", "not a number of bytes"),
        ("ContentLength", "0", "1.0", "not a number of bytes"),
        ("ContentLength", "9" * 30, "1.0", "not a number of bytes"),
        ("ContentLength", "9" * 900, "1.0", "not a number of bytes"),
        ("ContentLength", "8000", "2.0", "ContentLength 2.0 is not installed"),
        ("ContentGlob", "", "1.0", "has no pattern"),
        ("ContentType", "", "1.0", "needs a content type"),
        ("ContentLenght", "8000", "1.0", "Did you mean ContentLength?"),
        ("ContentGlob", "a" * 1025, "1.0", "1,025 characters"),
        ("", "", "1.0", "The filter ''"),
    ],
)
def test_what_cannot_be_one_is_refused(kind: str, text: str, version: str, says: str) -> None:
    with pytest.raises(BadFilter) as refused:
        made(Filter(kind, text, version))
    assert says in str(refused.value)


@pytest.fixture
def plugged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a distribution with two versions of a filter, two filters that fail, and a mapper."""

    def load(make: object) -> EntryPoint:
        return SimpleNamespace(load=lambda: make, value="theirs:make")  # type: ignore[return-value]

    def entries(group: str) -> list[EntryPoint]:
        brought = {
            GROUP: {
                "Longer": load(lambda text: lambda message: len(message.content) > int(text)),
                "Longer:2.0": load(lambda text: lambda message: True),
                "Broken": load(lambda text: 1 / 0),
                "Failing": load(lambda text: lambda message: 1 / 0),
            },
            MAPPERS: {"Theirs": load(lambda text: lambda message: message.key == text)},
        }[group]
        for name, entry in brought.items():
            entry.name = name
        return list(brought.values())

    monkeypatch.setattr(filters, "entries", entries)


@pytest.mark.usefixtures("plugged")
def test_others_are_found_by_type_and_version() -> None:
    message = Message("k", content=b"abc")
    assert not made(Filter("Longer", "3"))(message) and made(Filter("Longer", "2"))(message)
    assert made(Filter("Longer", "3", "2.0"))(message)
    assert made(Filter("Theirs", "k", group=MAPPERS))(message)
    for strange in (
        Filter("Longer", "3", "3.0"),
        Filter("Theirs", "k"),
        Filter("Longer", "3", group=MAPPERS),
    ):
        with pytest.raises(BadFilter, match="is not installed"):
            made(strange)


@pytest.mark.usefixtures("plugged")
def test_one_that_fails_says_no_and_one_that_cannot_be_made_is_refused() -> None:
    assert made(Filter("Failing", ""))(Message("k")) is False
    with pytest.raises(
        BadFilter, match=r"filter Broken \(theirs:make\) cannot be created: ZeroDivisionError"
    ):
        made(Filter("Broken", ""))


def test_the_reason_of_re2_is_shown_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def compile_(*_: object) -> None:
        raise ValueError(b"missing ): (a")

    re2 = SimpleNamespace(Options=SimpleNamespace, compile=compile_, error=ValueError)
    monkeypatch.setitem(__import__("sys").modules, "re2", re2)
    with pytest.raises(BadFilter, match=r"'\(a' is invalid: missing \): \(a\. Write"):
        made(Filter("ContentRegex", "(a"))


def test_an_expression_needs_re2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "re2", None)
    with pytest.raises(BadFilter, match=r"pip install 'heronry\[regex\]'"):
        made(Filter("ContentRegex", ".*loose.*"))
