"""Declarations of queues: all nodes end with the same ones, and report those that no longer count."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest
from msgspec.structs import replace

from mesh.discovery.state import Sample, Summary
from mesh.errors import BadArgument, BadName, LocalError
from mesh.features.queues.model.declared.definition import QueueTerms, packed, terms_of
from mesh.features.queues.node import parts as room
from mesh.features.queues.node.definitions.declaring import QUEUE, Declaring, TermsChanged
from mesh.features.queues.node.parts import QueueParts
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.sharing.shared import Shared
from mesh.shared.row import SharedRow
from mesh.wire.calls import AskRows
from mesh.wire.codec import pack
from tests.mesh.kernel.keyed import keyed, met
from tests.mesh.kernel.lying import replies
from tests.seeds import scenarios
from tests.simulation import SimNetwork, SimNode

T = TypeVar("T")
SAMPLE = Sample(cpu=(90.0,), ram_free=4_000, ram_total=8_000)
USUAL, FEW, HERE = QueueTerms(), QueueTerms(max_attempts=3), QueueTerms(scope="node")


class Heard(Declaring):
    """A declaring component that records its reports."""

    def __init__(self, context: NodeContext, disk: Disk, shared: Shared, changed: TermsChanged) -> None:
        self.said: list[tuple[str, QueueTerms | None]] = []

        def says(name: str, terms: QueueTerms | None) -> None:
            self.said.append((name, terms))
            changed(name, terms)

        super().__init__(context, disk, shared, says)


@pytest.fixture
def net(monkeypatch: pytest.MonkeyPatch) -> SimNetwork:
    monkeypatch.setattr(room, "Declaring", Heard)
    return SimNetwork()


def meshed(net: SimNetwork, *names: str) -> list[SimNode]:
    """Create nodes with keys that know each other."""
    nodes = [keyed(net, name, *names[:1], sample=lambda: SAMPLE) for name in names]
    met(net, *nodes)
    return nodes


def at(node: SimNode) -> Heard:
    declaring = node.core.parts[QueueParts].declaring
    assert isinstance(declaring, Heard)
    return declaring


def declare(node: SimNode, name: str, terms: QueueTerms = USUAL) -> QueueTerms:
    return done(node, lambda: at(node).declare_queue(name, terms, "client/joe"))


def remove(node: SimNode, name: str) -> bool:
    return done(node, lambda: at(node).remove_queue(name, "client/joe"))


def done(node: SimNode, what: Callable[[], T]) -> T:
    node.core._at(node.net.now, node.net.wall)
    try:
        return what()
    finally:
        node._carry_out_all()


def events(node: SimNode, word: str = "") -> list[str]:
    found = node.core.parts.context.events.events_after(0)[0]
    return [event.text for event in found if event.kind == QUEUE and word in event.text]


def agree(net: SimNetwork, nodes: list[SimNode], name: str, terms: QueueTerms | None) -> None:
    net.until(lambda: all(at(node).terms_of(name) == terms for node in nodes), 90)


# --- everywhere -------------------------------------------------------------------------------------------


def test_what_is_declared_at_one_node_is_declared_at_all_and_each_is_told_once(net: SimNetwork) -> None:
    nodes = a, b, d = meshed(net, "a", "b", "d")
    assert declare(a, "orders", FEW) == FEW
    agree(net, nodes, "orders", FEW)
    declare(b, "calls/new")
    agree(net, nodes, "calls/new", USUAL)
    net.run(20)
    for node in nodes:
        assert at(node).said == [("orders", FEW), ("calls/new", USUAL)]
        assert at(node).names() == ["calls/new", "orders"]
        assert node.metric("queues_declared") == 2
    assert events(a) == ["'orders' was declared by client/joe"] and events(d) == []


def test_to_say_the_same_again_does_no_harm_and_anything_else_is_refused_by_its_differences(
    net: SimNetwork,
) -> None:
    a, b = meshed(net, "a", "b")
    declare(a, "orders", FEW)
    agree(net, [a, b], "orders", FEW)
    assert declare(b, "orders", FEW) == FEW and declare(a, "orders", FEW) == FEW
    with pytest.raises(LocalError) as caught:
        declare(b, "orders", terms_of({"max_attempts": 5, "expiry": 60, "scope": "node"}))
    assert caught.value.code == "QUEUE_EXISTS"
    assert "scope is 'mesh', not 'node'" in caught.value.what
    assert "max_attempts is 3, not 5" in caught.value.what and "expiry is None, not 60.0" in caught.value.what
    net.run(10)
    assert at(a).said == at(b).said == [("orders", FEW)] and len(events(a)) == 1


@pytest.mark.parametrize("name", ["", "a/+", "n" * 201, "queue/a", "__sys__a", "\ud800", "a\nb"])
def test_a_name_that_no_queue_can_have_is_refused(net: SimNetwork, name: str) -> None:
    [a] = meshed(net, "a")
    with pytest.raises(BadName):
        declare(a, name)
    assert at(a).names() == [] and not remove(a, name)


def test_no_queue_has_itself_for_its_dead(net: SimNetwork) -> None:
    [a] = meshed(net, "a")
    with pytest.raises(BadArgument, match="itself"):
        declare(a, "orders", QueueTerms(dead_letter="queue/orders"))


@pytest.mark.parametrize("make", [keyed, SimNetwork.node])
def test_it_reaches_nodes_that_only_a_node_between_links(
    net: SimNetwork, make: Callable[..., SimNode]
) -> None:
    known = {"hub": ("a", "b"), "a": ("hub",), "b": ("hub",)}
    nodes = [
        make(net, name, "hub", links="configured", known=near, sample=lambda: SAMPLE)
        for name, near in known.items()
    ]
    net.cut("a", "b")
    net.until(lambda: len(nodes[0].alive) == 2)
    net.cut("hub", "a")
    net.run(5)
    declare(nodes[1], "orders")
    net.run(5)
    net.heal()
    net.cut("a", "b")
    agree(net, nodes, "orders", USUAL)
    assert events(nodes[2]) == []


def test_of_two_declared_apart_the_later_one_counts_and_who_has_lost_says_so(net: SimNetwork) -> None:
    nodes = a, b, d = meshed(net, "a", "b", "d")
    net.cut("a", "d")
    net.cut("b", "d")
    declare(a, "orders", FEW)
    declare(a, "same")
    net.run(20)
    declare(d, "orders", USUAL)
    declare(d, "same")
    net.run(20)
    assert at(b).terms_of("orders") == FEW and at(d).terms_of("orders") == USUAL
    net.heal()
    agree(net, nodes, "orders", USUAL)
    net.run(20)
    assert at(a).terms_of("orders") == at(b).terms_of("orders") == at(d).terms_of("orders") == USUAL
    [said] = events(a, "declared later")
    assert "max_attempts is 8, not 3 as here" in said and "orders" in said
    assert events(b, "declared later") == events(d, "declared later") == []
    assert [terms for name, terms in at(a).said if name == "orders"] == [FEW, USUAL]
    assert [terms for name, terms in at(d).said if name == "orders"] == [USUAL]
    assert [name for name, _ in at(a).said].count("same") == 1, "nothing has changed"


# --- restarts and removals --------------------------------------------------------------------------------


def test_after_a_restart_all_is_there_and_told(net: SimNetwork) -> None:
    a, b = meshed(net, "a", "b")
    declare(a, "orders", FEW)
    declare(b, "mine", HERE)
    agree(net, [a, b], "orders", FEW)
    net.run(3)
    b.restart()
    assert at(b).said == [("mine", HERE), ("orders", FEW)]
    net.cut("a", "b")
    a.kill()
    b.restart()
    assert at(b).terms_of("orders") == FEW and at(b).terms_of("mine") == HERE


def test_what_was_removed_stays_away_whoever_was_away(net: SimNetwork) -> None:
    nodes = a, b = meshed(net, "a", "b")
    declare(b, "orders")
    agree(net, nodes, "orders", USUAL)
    net.run(3)
    b.kill()
    assert remove(a, "orders") and not remove(a, "orders")
    assert at(a).said[-1] == ("orders", None) and at(a).names() == []
    net.run(3)
    a.restart()
    assert at(a).said == [] and at(a).terms_of("orders") is None
    b.restart()
    assert at(b).terms_of("orders") == USUAL, "as far as it knows"
    agree(net, nodes, "orders", None)
    assert at(b).said == [("orders", USUAL), ("orders", None)]
    declare(b, "orders", FEW)
    agree(net, nodes, "orders", FEW)
    assert events(a, "deleted") == [], "of its former life"


def test_whoever_declares_and_removes_queues_without_end_keeps_nobody_from_declaring(
    net: SimNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mesh.shared.table.ROWS", 3)
    monkeypatch.setattr("mesh.shared.table.DELETIONS", 3)
    nodes = a, b = meshed(net, "a", "b")
    declare(b, "orders")
    for n in range(10):
        declare(a, f"q{n}")
        assert remove(a, f"q{n}")
    declare(a, "jobs", FEW)
    agree(net, nodes, "jobs", FEW)
    agree(net, nodes, "orders", USUAL)
    assert at(a).names() == at(b).names() == ["jobs", "orders"]
    assert at(a).was_removed("q9") and not at(a).was_removed("q0")
    a.restart()
    assert at(a).names() == ["jobs", "orders"] and at(a).was_removed("q9")


# --- queues of one node -----------------------------------------------------------------------------------


def test_a_queue_of_one_node_is_never_spread(net: SimNetwork) -> None:
    a, b = meshed(net, "a", "b")
    declare(a, "mine", HERE)
    declare(a, "orders")
    agree(net, [a, b], "orders", USUAL)
    net.run(10)
    assert at(b).names() == ["orders"] and at(a).names() == ["mine", "orders"]
    assert list(a.disk.store.load().tables["queue"]) == [b"mine"]
    assert a.core.parts.shared.get_row(QUEUE, "mine") is None
    assert at(a).said == [("mine", HERE), ("orders", USUAL)]
    assert remove(a, "mine") and at(a).said[-1] == ("mine", None)
    net.run(3)
    assert a.disk.store.load().tables["queue"] == {}
    a.restart()
    assert at(a).names() == ["orders"]


def test_it_comes_before_one_of_the_mesh_that_others_declared_meanwhile(net: SimNetwork) -> None:
    a, b = meshed(net, "a", "b")
    net.cut("a", "b")
    declare(a, "orders", HERE)
    declare(b, "orders", FEW)
    net.heal()
    net.until(lambda: a.core.parts.shared.get_row(QUEUE, "orders") is not None, 90)
    assert at(a).terms_of("orders") == HERE and at(a).said == [("orders", HERE)]
    assert at(a).names() == ["orders"]
    assert remove(b, "orders") and declare(b, "orders")
    net.until(lambda: at(a)._mesh["orders"][0] == USUAL, 20)
    assert remove(b, "orders") and declare(b, "orders", FEW)
    net.until(lambda: at(a)._mesh["orders"][0] == FEW, 20)
    assert len(events(a, "of this node only")) == 1, "it is said once"
    assert at(a).said == [("orders", HERE)]
    net.run(3)
    a.restart()
    assert at(a).said == [("orders", HERE)]
    assert remove(a, "orders")
    assert at(a).said[-1] == ("orders", FEW) and at(a).terms_of("orders") == FEW
    assert remove(a, "orders")
    agree(net, [a, b], "orders", None)


def test_a_row_on_disk_that_cannot_be_read_stops_nobody(net: SimNetwork) -> None:
    [a] = meshed(net, "a")
    declare(a, "mine", HERE)
    net.run(3)
    a.kill()
    rows = a.disk.store._tables[QUEUE]
    rows.update({b"broken": b"\xc1", b"\xff\xfe": packed(HERE), b"a/+": packed(HERE), b"list": pack([])})
    a.start()
    assert at(a).names() == ["mine"]
    assert sum("is damaged" in note for note in a.notes) == 4


# --- nodes that lie ---------------------------------------------------------------------------------------


def written(author: SimNode, name: str, value: bytes) -> SharedRow:
    """Return a row with the author's signature."""
    me, keyring = author.core.parts.context.me, author.core.parts.context.settings.keyring
    assert keyring is not None
    row = SharedRow(QUEUE, name, author.net.wall, value, me.uuid, me.boot, me.key)
    return replace(row, signature=keyring.sign(row.text))


def boasts(liar: SimNode, *rows: SharedRow) -> None:
    liar.core.parts.shared._accept_row = lambda row, by: None  # type: ignore[method-assign]
    liar.core.parts.gossiping.shared[QUEUE] = Summary(QUEUE, 2**62, b"boasting")
    replies(liar, AskRows, {"rows": rows})


FORGED: dict[str, tuple[str, bytes]] = {
    "of one node": ("orders", packed(HERE)),
    "no terms": ("orders", b"\xc1"),
    "a name of the mesh's own": ("queue/orders", packed(USUAL)),
    "its own dead": ("orders", packed(QueueTerms(dead_letter="queue/orders"))),
    "a list": ("orders", pack([])),
    "a bad term": ("orders", pack({"max_attempts": 0})),
    "a long name": ("n" * 201, packed(USUAL)),
    "no name": ("", packed(USUAL)),
    "a tombstone of no name": ("a\nb", b""),
    "the dead of the mesh": ("orders", pack({"dead_letter": "__sys__deadMessage/a"})),
}


@pytest.mark.parametrize("how", scenarios(FORGED, 4))
def test_a_row_that_defines_no_queue_counts_nowhere_and_stops_nobody(net: SimNetwork, how: str) -> None:
    a, b, liar = meshed(net, "a", "b", "liar")
    boasts(liar, written(liar, *FORGED[how]))
    net.run(10)
    assert at(a).names() == at(b).names() == [] and at(a).said == []
    assert len(events(a, "rows of liar were rejected")) == 1
    declare(a, "orders", FEW)
    agree(net, [a, b], "orders", FEW)


def test_a_row_that_another_has_signed_counts_nowhere(net: SimNetwork) -> None:
    a, b, liar = meshed(net, "a", "b", "liar")
    boasts(liar, replace(written(b, "orders", packed(USUAL)), value=packed(FEW)))
    net.run(10)
    assert at(a).names() == [] and len(events(a, "rows of liar were rejected")) == 1


def test_what_a_later_release_adds_does_no_harm(net: SimNetwork) -> None:
    a, later = meshed(net, "a", "later")
    boasts(later, written(later, "orders", pack({"max_attempts": 3, "mirrors": 2})))
    net.until(lambda: at(a).terms_of("orders") == FEW, 20)


# --- bounds and hints -------------------------------------------------------------------------------------


def test_a_node_declares_no_more_than_so_many(net: SimNetwork, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mesh.features.queues.node.definitions.declaring.MOST", 3)
    a, b = meshed(net, "a", "b")
    for name, terms in (("one", USUAL), ("two", HERE), ("three", USUAL)):
        declare(a, name, terms)
    for terms in (USUAL, HERE):
        with pytest.raises(LocalError) as caught:
            declare(a, "four", terms)
        assert caught.value.code == "TOO_MANY_QUEUES"
    assert declare(a, "one") == USUAL, "it is there already"
    net.until(lambda: at(b).names() == ["one", "three"], 20)
    declare(b, "four")
    net.until(lambda: at(a).terms_of("four") == USUAL, 20)
    assert remove(a, "two") and remove(a, "one")
    declare(a, "five")
    assert at(a).names() == ["five", "four", "three"]


def test_the_most_alike_name_is_a_hint(net: SimNetwork) -> None:
    [a] = meshed(net, "a")
    assert at(a).similar_name("orders") == ""
    for n in range(150):
        declare(a, f"unlike/{n}", HERE)
    assert at(a).similar_name("order") == ""
    assert at(a).similar_name("unilke/121") == "unlike/121", "among all that are nearly as alike"
    declare(a, "orders", HERE)
    declare(a, "calls/new", HERE)
    assert (
        at(a).similar_name("order")
        == at(a).similar_name("Orders")
        == at(a).similar_name("odrers")
        == "orders"
    )
    assert at(a).similar_name("orders") == "", "that is no other one"
    assert at(a).similar_name("call/new") == "calls/new"
    assert at(a).similar_name("zzz") == at(a).similar_name("") == ""
    for n in range(1100):
        at(a).similar_name(f"n{n}" * 100)
    assert len(at(a)._near) <= 1000 and max(map(len, at(a)._near)) <= 200
    remove(a, "orders")
    assert at(a).similar_name("order") == ""
