"""Names: valid ones, invalid ones, and a round trip of their text."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.errors import BadName, LocalError
from mesh.names import (
    ADDRESS,
    CLIENT,
    QUEUE,
    SessionName,
    check_address,
    check_asked,
    check_queue,
    kind_of,
    node_name,
    queue_of,
)

NAMES = st.text("ABCxyz019_.:-", min_size=1, max_size=64)
SESSIONS = st.none() | st.integers(1, 2**63 - 1) | st.integers(-(2**63) + 1, -1)
PIECES = [
    "/site/",
    "/node/",
    "client/",
    "/client/",
    "/session/",
    "joe",
    "heron",
    "-",
    "0",
    "1",
    "9" * 19,
    " ",
    "é",
]


@pytest.mark.parametrize("name", ["heron", "h", "192.168.1.7:7600", "a_b-C.9", "x" * 64])
def test_a_name_of_the_grammar_is_handed_back(name: str) -> None:
    assert node_name(name) == name


@pytest.mark.parametrize("name", ["", "x" * 65, "a b", "a/b", "heron\n", "\n", "heron\0", "hérôn", "٣", "*"])
def test_any_other_name_is_refused(name: str) -> None:
    with pytest.raises(BadName, match="A name has 1 to 64"):
        node_name(name)


def test_the_culprit_is_quoted_but_cut_short() -> None:
    with pytest.raises(BadName) as caught:
        node_name("/" * 10_000)
    assert "'////" in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("client/joe", SessionName("joe")),
        ("client/joe/session/1", SessionName("joe", 1)),
        ("/node/heron/client/joe", SessionName("joe", node="heron")),
        ("/node/heron/client/joe/session/-3", SessionName("joe", -3, "heron")),
        ("/site/NYC/node/heron/client/joe/session/-3", SessionName("joe", -3, "heron", "NYC")),
        ("/site/NYC/client/joe", SessionName("joe", site="NYC")),
        ("/site/NYC/client/joe/session/1", SessionName("joe", 1, site="NYC")),
        # Keywords of the grammar are valid names, too.
        ("/node/node/client/client/session/2", SessionName("client", 2, "node")),
        ("client/session", SessionName("session")),
    ],
)
def test_each_form_is_read(text: str, name: SessionName) -> None:
    assert SessionName.parse(text) == name
    assert str(name) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "joe",
        "joe/1",
        "/client/joe",
        "client/",
        "client/joe/",
        "client/joe/1",
        "client/joe/session/",
        "client/joe/session/0",
        "client/joe/session/-0",
        "client/joe/session/01",
        "client/joe/session/+1",
        "client/joe/session/1 ",
        "client/joe/session/1\n",
        "client/joe/session/٣",
        "client/joe/session/9223372036854775808",
        "client/joe/session/" + "9" * 5_000,
        "client/jo e",
        "node/heron/client/joe",
        "/node/heron",
        "/node//client/joe",
        "/node/heron/client/joe/session/1/x",
        "//node/heron/client/joe",
        "/site/client/joe",
        "/site//client/joe",
        "/site/NYC/node/heron",
        "/node/heron/site/NYC/client/joe",
        "/site/N Y/node/heron/client/joe",
        "/node/heron/client/" + "x" * 65,
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(BadName) as caught:
        SessionName.parse(text)
    assert caught.value.hint
    assert len(str(caught.value)) < 500


def test_a_session_may_be_typed_without_the_word_session() -> None:
    for text, name in (
        ("/node/heron/client/joeConnectedToHeron/-9", SessionName("joeConnectedToHeron", -9, "heron")),
        ("client/joe/1", SessionName("joe", 1)),
        ("client/joe/session/1", SessionName("joe", 1)),
        ("client/client/session/1", SessionName("client", 1)),
        ("client/client/2", SessionName("client", 2)),
        ("/node/client/client/joe/7", SessionName("joe", 7, "client")),
        ("/site/NYC/node/heron/client/joe/2", SessionName("joe", 2, "heron", "NYC")),
        ("client/joe", SessionName("joe")),
    ):
        assert SessionName.typed(text) == name
    for text in (
        "client/joe/0",
        "client/joe/01",
        "client/joe/+1",
        "client/joe/1/2",
        "client/joe/x",
        "joe/1",
        "",
    ):
        with pytest.raises(BadName, match="client"):
            SessionName.typed(text)
    with pytest.raises(BadName):
        SessionName.typed("client/joe/9223372036854775808")


@given(NAMES, SESSIONS, st.none() | st.tuples(NAMES, st.none() | NAMES))
def test_a_name_survives_being_written_and_read(
    client: str, session: int | None, place: tuple[str, str | None] | None
) -> None:
    node, site = place or (None, None)
    name = SessionName(client, session, node, site)
    assert SessionName.parse(str(name)) == name


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_reading_gives_the_canonical_text_or_refuses(text: str) -> None:
    try:
        name = SessionName.parse(text)
    except BadName:
        return
    assert str(name) == text


def test_a_relative_name_becomes_absolute_at_a_node() -> None:
    joe = SessionName("joe", 1)
    assert not joe.is_absolute
    assert joe.at("heron").is_absolute
    assert str(joe.at("heron")) == "/node/heron/client/joe/session/1"
    assert joe == SessionName("joe", 1), "the original stays as it was"


def test_at_another_node_the_site_stays() -> None:
    assert str(SessionName("joe", site="NYC", node="heron").at("egret")) == "/site/NYC/node/egret/client/joe"


@pytest.mark.parametrize(
    "parts",
    [
        {"client": "a/b"},
        {"client": ""},
        {"client": "joe", "session": 0},
        {"client": "joe", "session": 2**63},
        {"client": "joe", "node": ""},
        {"client": "joe", "node": "heron/client/admin"},
        {"client": "joe", "node": "heron", "site": "N/Y"},
    ],
)
def test_a_forged_part_cannot_be_built_in(parts: dict[str, str]) -> None:
    with pytest.raises(BadName):
        SessionName(**parts)  # type: ignore[arg-type]


def test_names_are_good_keys_of_a_dict() -> None:
    assert {SessionName.parse("client/joe/session/1"): "found"}[SessionName("joe", 1)] == "found"


def test_a_name_of_a_class_of_its_own_becomes_a_bare_one() -> None:
    class Text(str):
        """A subclass of str, like that of numpy."""

    assert type(node_name(Text("joe"))) is str


@pytest.mark.parametrize(
    ("destination", "kind"),
    [
        ("queue/jobs", QUEUE), ("queue/", QUEUE), ("queue/a/b", QUEUE), ("queue", ADDRESS),
        ("queues/a", ADDRESS),
        ("a/queue/b", ADDRESS), ("client/joe", CLIENT), ("/node/a/client/joe", CLIENT), ("calc/add", ADDRESS),
        ("", ADDRESS),
    ],
)  # fmt: skip
def test_the_kind_of_a_destination_is_seen_at_its_beginning(destination: str, kind: str) -> None:
    assert kind_of(destination) == kind


@pytest.mark.parametrize("name", ["jobs", "orders/new", "x" * 200, "Übergabe", "a b", "a/queue"])
def test_a_queue_has_a_name_like_an_address(name: str) -> None:
    assert check_queue(name) == name == queue_of(f"queue/{name}")


@pytest.mark.parametrize(
    "name",
    [
        "", "x" * 201, "+", "a/+/b", "#", "a\0", "a\n", "\ud800", "queue/a", "queue", "address/a", "map/a",
        "site",
        "client", "client/a", "/node/a", "__sys__a", None, 5, float("nan"), b"jobs", ["jobs"],
    ],
)  # fmt: skip
def test_any_other_name_is_none_of_a_queue(name: Any) -> None:
    with pytest.raises(BadName) as caught:
        check_queue(name)
    assert caught.value.hint or not isinstance(name, str)
    with pytest.raises(BadName):
        queue_of(f"queue/{name}" if isinstance(name, str) else "queue/")


@pytest.mark.parametrize("destination", ["", "jobs", "queue", "client/joe", "/queue/jobs", "calc/add"])
def test_what_is_no_queue_has_no_name_of_one(destination: str) -> None:
    with pytest.raises(BadName, match="not a queue"):
        queue_of(destination)


@pytest.mark.parametrize(
    "text",
    [
        "/site/NYC//calc", "/site//calc", "/site/NYC", "/site/NYC/", "/site/NYC/node/x/client/y",
        "/site/NYC/client/y", "/site/NYC/queue/x", "/site/NYC/__sys__x", "/site/N Y/calc",
        "/site/NYC/site/SFO", "/site/NYC//site/SFO/calc", "/site/NYC/a\nb", "/site/NYC/+", "/node/x/calc",
    ],
)  # fmt: skip
def test_what_is_no_address_of_another_site_is_asked_by_nobody(text: str) -> None:
    with pytest.raises(LocalError):
        check_asked(text)


def test_an_address_of_another_site_is_as_long_as_a_destination_may_be_with_the_name_of_the_site() -> None:
    longest = f"/site/NYC/{'x' * 502}"
    assert check_asked(longest) == longest
    with pytest.raises(BadName, match="has 513 characters") as caught:
        check_asked(f"{longest}x")
    assert "502 after the site" in caught.value.hint
    assert check_address("x" * 512), "here all of it is its own"


def test_an_address_of_another_site_is_asked_and_served_by_nobody() -> None:
    assert check_asked("/site/NYC/calc/add") == "/site/NYC/calc/add" and check_asked("calc/add") == "calc/add"
    assert kind_of("/site/NYC/calc/add") == ADDRESS and kind_of("/site/NYC/node/x/client/y") == CLIENT
    for check in (check_address, check_queue):
        with pytest.raises(BadName):
            check("/site/NYC/calc/add")
