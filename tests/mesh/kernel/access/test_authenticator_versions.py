"""The version of the wire and the features of a connection. Unknown commands are not sent."""

import asyncio
from typing import Any
from unittest.mock import patch

import pytest
from msgspec.structs import replace

import mesh
from mesh.client import wired
from mesh.errors import Refused
from mesh.kernel.asking.interest_sync import InterestSync
from mesh.kernel.context.conn import Conn
from mesh.wire import commands as c
from mesh.wire.limits import (
    DIAL_BACK,
    DIRECT,
    DIRTY,
    DURABLE,
    GAPS,
    HISTORY,
    LETTERS,
    PIECES,
    QUEUES,
    QUIET,
    RULES,
    SERVICES,
    SHARED,
    SPACES,
    STAYS,
    STRATA,
    TRANSACTIONS,
    TRANSFERS,
    VERSION_MAX,
    VISITS,
    WAYS,
    WHERE,
    XPATH,
)
from mesh.wire.spoken import agreed, in_common
from tests.mesh.kernel.stranger import Stranger
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode
from tools.costing import wire

OLD = frozenset((PIECES, WAYS))  # features of version 1
BOTH = OLD | {
    SPACES,
    TRANSACTIONS,
    DIRECT,
    HISTORY,
    QUIET,
    VISITS,
    WHERE,
    SHARED,
    SERVICES,
    QUEUES,
    TRANSFERS,
    DURABLE,
    XPATH,
    RULES,
    STAYS,
    LETTERS,
    STRATA,
    DIRTY,
    GAPS,
    DIAL_BACK,
}
HOUR = c.Query("hour", "12")  # an unknown kind


def links_of(node: SimNode, other: SimNode) -> set[tuple[int, frozenset[str]]]:
    """Return (version, features) of each connection to `other`, as `node` has them."""
    conns = node.core.parts.neighbours.peers[other.uuid].conns.values()
    return {(conn.version, conn.speaks) for conn in conns if conn is not None}


@pytest.mark.parametrize(
    ("oldest", "newest", "ours", "version"),
    [(1, 1, 2, 1), (1, 2, 2, 2), (1, 2, 1, 1), (2, 9, 2, 2), (-5, 2**62, 2, 2), (3, 9, 2, 0), (2, 2, 1, 0),
     (0, 0, 2, 0), (2, 1, 2, 0)],
)  # fmt: skip
def test_the_version_is_the_newest_that_both_know(oldest: int, newest: int, ours: int, version: int) -> None:
    assert agreed(oldest, newest, ours) == version


def test_words_are_those_of_both_and_of_version_1_only_what_it_knew() -> None:
    assert in_common(2, [WAYS, "queue", "of nobody"], [PIECES, WAYS, "queue"]) == {WAYS, "queue"}
    assert in_common(1, [WAYS, "queue"], [PIECES, WAYS, "queue"]) == {WAYS}


@pytest.mark.parametrize(("first", "second", "version"), [(2, 2, 2), (1, 2, 1), (2, 1, 1), (1, 1, 1)])
def test_nodes_keep_what_they_have_agreed_on(first: int, second: int, version: int) -> None:
    net = SimNetwork()
    a, b = net.node("a", wire_version=first), net.node("b", "a", wire_version=second)
    heard = client_of(b).subscribed("k")
    net.until(lambda: a.core.parts.neighbours.peers[b.uuid].data)
    assert links_of(a, b) == links_of(b, a) == {(version, BOTH if version > 1 else OLD)}
    client_of(a, "pub").publish("k", b"1")
    net.until(lambda: heard.contents == [b"1"])


@pytest.mark.parametrize(
    ("versions", "welcomed", "refused"),
    [((1, 1), 1, ""), ((1, 2), 2, ""), ((1, 7), 2, ""), ((2, 1), 0, "VERSION"), ((3, 7), 0, "VERSION")],
)
def test_a_client_is_told_the_version(versions: tuple[int, int], welcomed: int, refused: str) -> None:
    stranger = Stranger(SimNetwork().node("a"))
    stranger.as_client(versions=versions)
    said = [command.version for command in stranger.heard if isinstance(command, c.Welcome)]
    assert (said, stranger.refusal) == ([welcomed] if welcomed else [], refused)


@pytest.mark.parametrize("version", [0, 3, 2**62])
def test_whoever_wants_to_speak_what_was_not_offered_is_left(version: int) -> None:
    net = SimNetwork()
    b = net.node("b")
    door = b.core.parts.reception._admission.door
    admit = door._admit

    def false(conn: Conn, hello: c.Hello) -> Any:
        return replace(admit(conn, hello), version=version)  # type: ignore[type-var]

    door._admit = false
    a = net.node("a", "b")
    net.run(3)
    assert [note for note in a.notes if f"wire version {version}" in note and "[VERSION]" in note]
    assert not [pipe for pipe in net.pipes if pipe.is_open and pipe.ends[0] is a]


def test_a_command_goes_only_to_those_who_have_said_its_word() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    conn = a.core.parts.neighbours.peers[b.uuid].control
    assert conn is not None and conn.speaks == BOTH
    for speaks, sent in ((BOTH, 1), (frozenset((PIECES,)), 0)):
        conn.speaks = speaks
        a.core.parts.context.out.effects.clear()
        a.core.parts.context.out.send(conn, c.Ways())
        assert len(a.core.parts.context.out.effects) == sent


def test_a_part_adds_its_word_and_what_is_wanted_of_its_kind_is_asked_of_those_who_say_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`old` has this release without the feature. It is upgraded by a restart."""
    net = SimNetwork()
    a, new, old = net.mesh("a", "new", "old")
    right = InterestSync.features
    monkeypatch.setattr(
        InterestSync, "features", lambda it: (XPATH, HOUR.kind) if it._context.me.name != "old" else right(it)
    )
    a.restart()
    new.restart()
    net.until(lambda: {"new", "old"} <= a.alive)
    a.core.parts.demand.want(HOUR)
    interests = a.core.parts.demand.interests
    net.until(lambda: HOUR in interests.interest_of(new.uuid).queries)
    assert HOUR not in interests.interest_of(old.uuid).queries
    monkeypatch.setattr(InterestSync, "features", lambda it: (XPATH, HOUR.kind))
    old.restart()
    net.until(lambda: HOUR in interests.interest_of(old.uuid).queries)
    assert a.core.parts.neighbours.peers[old.uuid].speaks == {*BOTH, HOUR.kind}


def test_every_command_that_is_newer_than_the_first_release_has_a_word() -> None:
    beyond = {kind.__name__ for tag, kind in c.COMMANDS.items() if tag >= 39}
    assert beyond == {kind.__name__ for kind in c.COMMANDS.values() if kind.word} - {"Ways"}
    assert all(tag < 128 for tag in c.COMMANDS)


@pytest.mark.parametrize("version", [0, VERSION_MAX + 1])
def test_a_client_that_is_to_speak_what_it_does_not_know_says_so(
    version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "WELCOME", replace(wire.WELCOME, version=version))

    async def scenario() -> None:
        with patch.object(wired, "Sockets", wire.Wire), pytest.raises(Refused) as refused:
            await mesh.Client("ipc:///run/heron", client="joe").__aenter__()
        assert refused.value.code == "VERSION"

    asyncio.run(scenario())
