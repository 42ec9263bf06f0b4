"""Each interested node receives the notes of others on their local queues."""

import pytest

from mesh.errors import RemoteError
from mesh.flow.parts import SIZE
from mesh.kernel.context.facts import Fact
from mesh.kernel.presence.facts import ServersChanged
from mesh.kernel.presence.presence import Presence, _parts
from mesh.wire import commands as c
from mesh.wire.frames import read, write
from mesh.wire.limits import FRAME, NOTE
from mesh.wire.serving import read_numbers
from tests.mesh.features.services.node.user import User
from tests.simulation import SimNetwork, SimNode

JOBS = ("queue", "jobs")
X = ("address", "x")


def presence(node: SimNode) -> Presence:
    return node.core.parts.presence


def serve(node: SimNode, consumers: int, note: bytes = b"", name: tuple[str, str] = JOBS) -> None:
    presence(node).serve(name, consumers, note)
    turn(node)


def turn(node: SimNode) -> None:
    node.core.tick(node.net.now, node.wall)
    node._carry_out_all()


def watching(node: SimNode, *, name: tuple[str, str] = JOBS) -> SimNode:
    presence(node).notes(name)
    turn(node)
    return node


def facts(node: SimNode, monkeypatch: pytest.MonkeyPatch) -> list[Fact]:
    """Return a list that receives the facts of a node from now on."""
    said: list[Fact] = []
    say = node.core.parts.context.facts.publish_fact

    def heard(fact: Fact) -> None:
        said.append(fact)
        say(fact)

    monkeypatch.setattr(node.core.parts.context.facts, "publish_fact", heard)
    return said


def test_a_note_goes_to_those_who_watch_and_goes_with_its_row() -> None:
    net = SimNetwork()
    a, b, other = net.mesh("a", "b", "c")
    serve(a, 1, b"one")
    watching(b)
    net.until(lambda: presence(b).notes(JOBS) == {a.uuid: b"one"})
    serve(a, 1, b"two")
    net.until(lambda: presence(b).notes(JOBS) == {a.uuid: b"two"})
    serve(a, 1)
    net.until(lambda: presence(b).notes(JOBS) == {} and presence(b).servers(JOBS) == {a.uuid: 1})
    serve(a, 2, b"three")
    net.until(lambda: presence(b).notes(JOBS) == {a.uuid: b"three"})
    serve(a, 0, b"of nobody")
    net.until(lambda: presence(b).notes(JOBS) == {} == presence(b).servers(JOBS))
    assert not list(presence(other)._registry.names())


def test_a_note_goes_with_its_node() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    serve(a, 1, b"one")
    watching(b)
    net.until(lambda: presence(b).notes(JOBS) == {a.uuid: b"one"})
    a.kill()
    net.until(lambda: presence(b).notes(JOBS) == {}, limit=30)
    a.restart()
    serve(a, 1, b"again")
    net.until(lambda: presence(b).notes(JOBS) == {a.uuid: b"again"}, limit=30)


def test_a_new_note_is_a_fact_without_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    watching(b)
    here, there = facts(a, monkeypatch), facts(b, monkeypatch)
    for consumers, note in [(1, b"one"), (1, b"two"), (1, b"two"), (3, b"two"), (0, b""), (0, b"none")]:
        serve(a, consumers, note)
        net.run(0.5)
    wanted = [ServersChanged(*JOBS, a.uuid, change) for change in (1, 0, 2, -3)]
    for said in (here, there):
        assert [fact for fact in said if isinstance(fact, ServersChanged)] == wanted


def test_who_chooses_among_those_who_serve_an_address_does_not_mind_a_note(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    server, asker, watcher = User(a, "server"), User(b, "asker"), User(b, "watcher")
    server.serve("x")
    watcher.watch(1, "x")
    n = asker.send("x", b"1")
    net.until(lambda: asker.state(n) == "OK" and watcher.rows[-1:] and watcher.rows[-1].consumers == 1)
    rows = len(watcher.rows)
    strategies = b.core.parts.balancing
    told: list[object] = []
    monkeypatch.setattr(strategies, "registrations", told.append)
    serve(a, 1, b"of an address", X)
    net.until(lambda: presence(b).notes(X) == {a.uuid: b"of an address"})
    net.run(1)
    assert told == [] and [row.note for row in watcher.rows[rows:]] == [b"of an address"]
    server.serve("x", number=9)
    net.until(lambda: watcher.rows[-1].consumers == 2)
    assert len(told) == 1 and read_numbers(watcher.rows[-1].note)


def test_queues_are_no_addresses() -> None:
    net = SimNetwork()
    a, _ = net.mesh("a", "b")
    serve(a, 1, b"one")
    serve(a, 1, name=X)
    assert a.core.parts.context.figures()["addresses"] == 1


def test_who_asks_for_notes_watches_and_who_asks_no_more_does_not() -> None:
    net = SimNetwork()
    _a, b = net.mesh("a", "b")
    watching(b)
    assert JOBS in presence(b)._watching.names
    net.run(100)
    assert JOBS not in presence(b)._watching.names


def test_parts_of_what_is_told_are_short_whatever_is_noted() -> None:
    def rows(name: tuple[str, str]) -> tuple[c.Row]:
        return (c.Row(*name, 1, note=b"n" * NOTE),)

    parts = _parts(map(rows, [("queue", f"q{n}") for n in range(100)]))
    frames = [write(c.Serving(1, 1, part))[0] for part in parts]
    assert len(frames) > 5 and max(map(len, frames)) < SIZE + 2 * NOTE < FRAME
    told = [row for frame in frames for row in read([frame])[0].rows]  # type: ignore[attr-defined]
    assert len(told) == 100


def test_a_note_that_is_too_long_is_refused() -> None:
    read(write(c.Serving(1, 1, (c.Row(*JOBS, 1, note=b"n" * NOTE),))))
    with pytest.raises(RemoteError, match="MALFORMED"):
        read(write(c.Serving(1, 1, (c.Row(*JOBS, 1, note=b"n" * (NOTE + 1)),))))
