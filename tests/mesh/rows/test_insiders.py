"""Row 55: a member that spreads false gossip, on real nodes with keys."""

import asyncio
import json
import math
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from mesh.balancers.base import Candidate
from mesh.balancers.capacity import BELIEVED, capacities
from mesh.discovery.lines import MOST, StateLine, StateMessage, encode
from mesh.discovery.state import NodeState
from mesh.discovery.table import CAPACITY
from mesh.kernel.states.gossiping import TOPIC, signed_text
from mesh.shell.node import NodeRuntime
from tests.mesh.meshes import Mesh, eventually
from tests.mesh.security.keyed import keyed_mesh

FAKES = 100_000
POISON: list[dict[str, Any]] = [
    {"cpu": (-5.0,)},
    {"cpu": (101.0,)},
    {"cpu": (math.nan,)},
    {"cpu": (1e308,)},
    {"cpu": ("40",)},
    {"load": math.inf},
    {"load": -1.0},
    {"ram_free": -1},
    {"name": "heron\x1b[2J"},
    {"lag": "late"},
]


def states(m: Mesh, at: str) -> dict[str, NodeState]:
    """Return the states of other nodes that a node holds, by name."""
    return {known.state.name: known.state for known in m.nodes[at].core.parts.gossiping.gossip.known.values()}


def signed(by: NodeRuntime, state: NodeState) -> StateLine:
    """Return a line with the signature of the node `by`, whichever node the state is about."""
    ring = by.core.parts.context.settings.keyring
    assert ring is not None
    line = StateLine(state.uuid, state.boot, state.counter, state.encode())
    return msgspec.structs.replace(line, signature=ring.sign(signed_text(line)))


class Liar:
    """The node frodo, which publishes false states on its own PUB.

    A PUB drops messages for a node that reads too slowly, so one that must arrive is repeated.
    """

    def __init__(self, node: NodeRuntime) -> None:
        self.node = node
        self._number = 10**6  # above the numbers of its honest messages

    def say(self, *lines: StateLine, digest: Any = (), tombs: Any = ()) -> None:
        self._number += 1
        me = self.node.core.parts.context.me
        span = (b"", b"") if digest else None
        message = StateMessage(me.uuid, me.boot, self._number, lines, digest, tombs, span)
        self.node.world.sockets.publish([TOPIC, encode(message)])

    async def says(self, *lines: StateLine, until: Callable[[], bool], tombs: Any = ()) -> None:
        """Publish a message again and again until the condition holds."""

        def is_heard() -> bool:
            self.say(*lines, tombs=tombs)
            return until()

        await eventually(is_heard)


def fakes(count: int) -> Iterator[list[bytes]]:
    """Yield uuids of nodes that do not exist, as many at a time as a message may name."""
    for first in range(0, count, MOST):
        yield [secrets.token_bytes(16) for _ in range(min(MOST, count - first))]


def told(place: Path) -> list[dict[str, Any]]:
    """Return the states that a node has written down, whole lines only."""
    texts = [file.read_text() for file in place.rglob("*.jsonl*")]
    lines = [json.loads(line) for text in texts for line in text.splitlines(True) if line.endswith("\n")]
    return [line for line in lines if line["kind"] == "state"]


def test_row_55_poisoned_gossip_is_dropped_by_schema_and_owner_and_takes_no_room() -> None:
    async def scenario() -> None:
        async with keyed_mesh("heron", "frodo", "egret", snapshots__interval=1.0) as m:
            await eventually(lambda: len(states(m, "egret")) == 2)
            liar, egret = Liar(m.nodes["frodo"]), m.nodes["egret"].core
            true, own = states(m, "egret")["heron"], states(m, "egret")["frodo"]
            for n, poison in enumerate(POISON):
                wrong = msgspec.structs.replace(own, counter=own.counter + 10**6 + n, **poison)
                liar.say(signed(liar.node, wrong))
            busy = msgspec.structs.replace(true, counter=true.counter + 10**6, published=54321.0)
            forged = egret.parts.gossiping.gossip.forged
            await liar.says(
                signed(liar.node, busy),
                tombs=((true.uuid, true.boot),),
                until=lambda: egret.parts.gossiping.gossip.forged > forged,
            )
            for uuids in fakes(FAKES):
                lines = [StateLine(uuid, 1, 1, b"") for uuid in uuids]
                liar.say(
                    *lines, digest=tuple((u, 1, 1) for u in sorted(uuids)), tombs=[(u, 1) for u in uuids]
                )
                await asyncio.sleep(0)
            end = msgspec.structs.replace(own, counter=own.counter + 2 * 10**6, published=12345.0)
            await liar.says(  # the last one is valid
                signed(liar.node, end), until=lambda: states(m, "egret")["frodo"].published == 12345.0
            )
            assert egret.parts.gossiping.gossip.forged >= forged + 1
            assert states(m, "egret").keys() == {"heron", "frodo"}
            heron = states(m, "egret")["heron"]
            assert heron.published < 1 and heron.counter < 10**6, "only heron speaks for heron"
            assert len(egret.parts.neighbours.membership._table.records) <= CAPACITY
            assert len(egret.parts.gossiping.gossip._newest) <= CAPACITY
            assert {peer.node.name for peer in egret.parts.neighbours.peers.values() if peer.alive} == {
                "heron",
                "frodo",
            }
            place = Path(m.nodes["egret"].held.data.path) / "snapshots"
            await eventually(lambda: {line["node"] for line in told(place)} == {"heron", "frodo", "egret"})
            assert all(line["cpu"] is None or 0 <= line["cpu"] <= 100 for line in told(place))
            assert all(0 <= line["load"] <= 1 and 0 <= line["published"] < 10**5 for line in told(place))

    asyncio.run(scenario())


def test_row_55_who_says_that_it_is_idle_or_mighty_draws_no_more_than_its_part() -> None:
    """One of five nodes reports any load, or has any learned weight."""
    honest = [Candidate(name, load=0.9, age=0.1) for name in ("heron", "egret", "ibis", "crane")]
    for load, weight in ((0.0, 1.0), (0.0, 1e308), (-1e308, math.inf), (1.0, math.nan)):
        liar = Candidate("frodo", load=load, age=0.1, weight=weight)
        *others, his = capacities([*honest, liar], 2.0)
        assert his <= BELIEVED * BELIEVED * min(others) and min(others) > 0
