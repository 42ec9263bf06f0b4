"""Reads from the store come after all writes that were ordered before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from mesh.errors import MeshError, RemoteError, StoreError
from mesh.features.all import FEATURES
from mesh.kernel.context.component import Component
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.effects import Commit, Effect, Fetch
from mesh.kernel.feature import Feature, FeatureParts
from mesh.kernel.parts import Parts
from mesh.operations import Append
from mesh.testing import Mesh
from mesh.wire.envelope import TAILED, Envelope
from tests.mesh.envelopes import envelope
from tests.seeds import scenarios
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode
from tests.waiting import eventually


class Heard:
    """The outcomes of reads."""

    def __init__(self) -> None:
        self.found: list[dict[int, Envelope] | MeshError] = []

    def __call__(self, found: dict[int, Envelope] | MeshError) -> None:
        self.found.append(found)

    @property
    def contents(self) -> list[list[bytes]]:
        """The contents of the envelopes of the latest read."""
        assert isinstance(self.found[-1], dict)
        return [each.contents() for each in self.found[-1].values()]


def emitted(node: SimNode) -> list[Effect]:
    """Return a list that receives the effects of a node from now on."""
    found: list[Effect] = []
    emit: Callable[[Effect], None] = node.core.parts.context.out.emit

    def noted(effect: Effect) -> None:
        found.append(effect)
        emit(effect)

    node.core.parts.context.out.emit = noted  # type: ignore[method-assign]
    return found


def three_stored(seed: int = 0) -> tuple[SimNode, int]:
    """Return a node with three direct messages for a disconnected session, and the position of the first."""
    node = SimNetwork(seed).node("a")
    client = client_of(node, "pub")
    for content in (b"1", b"2", b"3"):
        client.send("/node/a/client/joe/session/1", content, force=True, persistent=True)
    client.settled()
    return node, node.core.parts.router.shelf.next_position - 3


def fetched(node: SimNode, *positions: int) -> Heard:
    heard = Heard()
    node.core.parts.disk.fetch(positions, heard)
    node._carry_out_all()
    node.net.until(lambda: bool(heard.found))
    return heard


def test_it_comes_by_position_and_what_was_dropped_does_not() -> None:
    node, first = three_stored()
    assert fetched(node, first + 2, first, first + 7).contents == [[b"1"], [b"3"]]
    assert isinstance(fetched(node).found[0], dict) and not fetched(node).found[0]
    stored = next(iter(node.core.parts.inboxes.feeds()))._backlog.first.stored
    node.core.parts.router.shelf.delete_released(stored)
    node.core.parts.disk.commit((), lambda error: None)
    heard = fetched(node, first, first + 1)
    assert heard.contents == [[b"2"]]
    assert list(heard.found[0]) == [first + 1]  # type: ignore[arg-type]
    assert node.metric("fetches_under_way") == 0


@pytest.mark.parametrize("is_together", [False, True])
def test_it_sees_all_commits_before_it_also_those_that_are_gathered(is_together: bool) -> None:
    node = SimNetwork().node("a")
    disk, shelf, effects, heard = node.core.parts.disk, node.core.parts.router.shelf, emitted(node), Heard()
    position, piece = shelf.next_position, envelope(contents=[b"new"])
    shelf.next_position += 1

    def scenario() -> None:
        disk.commit((Append(position, piece.header(), piece.body),), lambda error: None)
        disk.fetch([position], heard)

    if is_together:
        with disk.together():
            scenario()
            assert not effects
        assert not disk._wishes
    else:
        scenario()
    assert [type(effect) for effect in effects if isinstance(effect, Commit | Fetch)] == [Commit, Fetch]
    assert node.metric("fetches_under_way") == 1
    node._carry_out_all()
    node.net.until(lambda: bool(heard.found))
    assert heard.contents == [[b"new"]]


def test_each_is_told_of_what_it_wanted() -> None:
    node, first = three_stored()
    disk, one, other = node.core.parts.disk, Heard(), Heard()
    disk.fetch([first], one)
    disk.fetch([first + 1], other)
    node._carry_out_all()
    node.net.until(lambda: bool(one.found and other.found))
    assert (one.contents, other.contents) == ([[b"1"]], [[b"2"]])
    with pytest.raises(KeyError):
        node.core.fetched(10**9, [], node.now, node.wall)


def told(answer: object) -> dict[int, Envelope] | MeshError:
    """Return the outcome of a read that the shell answers with `answer`."""
    node, heard = SimNetwork().node("a"), Heard()
    node.core.parts.disk.fetch([1], heard)
    (wish,) = (effect for effect in node.core.take_effects() if isinstance(effect, Fetch))
    assert (wish.positions, wish.store) == ((1,), "")
    node.core.fetched(wish.token, answer, node.now, node.wall)  # type: ignore[arg-type]
    return heard.found[0]


def test_that_it_cannot_be_read_is_told() -> None:
    error = StoreError("damaged", code="DATA_LOSS")
    assert told(error) is error
    assert isinstance(told([(1, b"no header", b"")]), RemoteError)


@pytest.mark.parametrize("seed", scenarios(range(8), 2))
def test_what_was_to_be_read_when_the_process_ended_is_nobodys(seed: int) -> None:
    node, first = three_stored(seed)
    heard = Heard()
    node.core.parts.disk.fetch([first], heard)
    node._carry_out_all()
    node.restart()
    node.net.run(1)
    assert not heard.found
    assert fetched(node, first).contents == [[b"1"]]


def test_in_a_mesh_in_memory_it_is_read_as_well() -> None:
    async def scenario() -> list[bytes]:
        heard = Heard()
        async with Mesh(1) as m, m.connect() as client:
            await client.send("client/joe/session/1", b"later", force_queuing=True, persistent=True)
            node = m._nodes["a"]
            disk: Disk = node.core.parts.disk
            disk.fetch([node.core.parts.router.shelf.next_position - 1], heard)
            node._net.stir(node)
            await eventually(lambda: heard.found)
        return heard.contents[0]

    assert asyncio.run(scenario()) == [b"later"]


class Keeper(Component):
    """A component with envelopes of a kind of its own, which keeps their positions and no bodies."""

    def __init__(self, parts: Parts) -> None:
        self.disk = parts.disk
        self.positions: list[int] = []
        self.was_resumed = 0

    def envelope_restorers(self) -> dict[str, Callable[[int, Envelope], None]]:
        return {"address": lambda position, _: self.positions.append(position)}

    def on_restored(self) -> None:
        self.was_resumed = len(self.positions)


class KeepingNode(SimNode):
    features = (*FEATURES, Feature("keeping", lambda parts: FeatureParts(Keeper(parts))))


def store_envelopes(node: SimNode, *to: str) -> None:
    """Store an envelope to each address of `to` before the node starts."""
    pieces = [replace(envelope(contents=[b"%d" % i]), to=each) for i, each in enumerate(to, 1)]
    node.disk.store.commit([Append(i, e.header(), e.body) for i, e in enumerate(pieces, 1)])


def test_each_kind_goes_to_the_part_that_takes_it_up_and_comes_back_when_it_is_wanted() -> None:
    node = KeepingNode(SimNetwork(), "a", (), {})
    store_envelopes(node, "calc/add", "client/joe", "calc/add", "")
    node.start()
    (keeper,) = (part for part in node.core.parts.context.face if isinstance(part, Keeper))
    assert (keeper.positions, keeper.was_resumed) == ([1, 3], 2)
    assert fetched(node, *keeper.positions).contents == [[b"1"], [b"3"]]


def test_a_kind_that_no_part_takes_up_is_an_error_at_the_start() -> None:
    node = SimNetwork()
    made = SimNode(node, "a", (), {})
    store_envelopes(made, "calc/add")
    with pytest.raises(StoreError, match="kind address, which this node does not know") as refused:
        made.start()
    assert refused.value.code == "STORE_VERSION"


class NotingNode(SimNode):
    """A node that records the envelopes that its forwarder restores, instead of sending them."""

    def made(self) -> None:
        self.again: list[tuple[int, bytes, int, int]] = []

        def noted(position: int, e: Envelope) -> None:
            self.again.append((position, e.stream[:1], e.first, e.flags))

        self.core.parts.forwarder._restore = noted  # type: ignore[method-assign,assignment]


def test_what_waited_for_its_master_goes_on_in_each_publishers_order() -> None:
    """The order of storage does not matter, and all of them come after this node's own messages."""
    node = NotingNode(SimNetwork(), "a", (), {})
    pieces = [envelope(first=n, stream=s * 16, flags=TAILED) for s, n in ((b"s", 3), (b"r", 9), (b"s", 1))]
    node.disk.store.commit([Append(i, e.header(), e.body) for i, e in enumerate(pieces, 1)])
    node.start()
    assert node.again == [(2, b"r", 9, TAILED), (3, b"s", 1, TAILED), (1, b"s", 3, TAILED)]
