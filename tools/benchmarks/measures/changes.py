"""The delay until messages follow a changed rule, with five nodes of which one is isolated now and then."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from random import Random
from typing import Any

import msgspec

import mesh
from mesh.mapping.agreed import NONE, Agreed, AgreedNode, packed
from mesh.mapping.rules import Rule
from mesh.security.joining import admin_seed, new_mesh
from mesh.security.keyfiles import MeshFile
from mesh.security.signing import public_key, sign
from mesh.shared.row import NOBODY, SharedRow
from mesh.wire.limits import RULES
from tools.benchmarks.loads.figures import Count, counted, median, percentile
from tools.benchmarks.pages.report import Report, Row
from tools.lab_parts.netlab import NetLab, why_not
from tools.running.nodes import READY, Node, all_see
from tools.running.processes import Failed, Processes

NAMES = ("heron", "avalon", "bilbo", "frodo", "golan")  # each on a machine of its own
FIRST, ALONE = NAMES[0], NAMES[-1]  # the changing node, and the isolated one
MASTERS = NAMES[1:3]  # in turn
DOMAIN, PORT = "NEWS", 7710
EVERY = 0.01  # s between two messages of a node
REST = 0.3  # s between two changes, at most
LIMIT = 60.0  # s that a change may take
# Within each ten changes: before which one the node is cut off, and before which it is back. It misses an odd
# number of them, or it would use the right rule without having received it.
TURNS, CUT, HEALED = 10, 2, 5
LONGER = 4.0  # most s between last change and healing


@dataclass(frozen=True, slots=True)
class Change:
    """A change of rules.

    `took` is the time in s until its OK, and `seconds` that from the OK until all reachable nodes routed a
    message by it, or 0 if all did before. `last` is the slowest node.
    """

    seconds: float
    took: float
    last: str
    is_cut: bool  # whether a node is cut off


@dataclass(slots=True)
class Found:
    """The findings of all changes.

    `healed` has the s from each healing until the isolated node used the missed rule. `count` has no
    disorder.
    """

    changes: list[Change] = field(default_factory=list)
    healed: list[float] = field(default_factory=list)
    count: Count = field(default_factory=Count)


def measured(count: int, seed: int, advance: Callable[[], None]) -> Report:
    """Make `count` changes, one after the other, while each node publishes messages.

    Without network namespaces, the report has only missing rows.
    """
    if missing := why_not():
        return told(Found(), missing)
    with NetLab(len(NAMES)) as lab, Processes() as processes:
        file = new_mesh(processes.place, processes.cluster)
        _start(processes, lab)
        return told(asyncio.run(Trial(processes, lab, file, Random(seed)).run(count, advance)))


def _start(processes: Processes, lab: NetLab) -> None:
    nodes: list[Node] = []
    for host, name in enumerate(NAMES, 1):
        seed = ("--peer", nodes[0].tcp) if nodes else ()
        bind = ("--bind", f"tcp://{lab.address(host)}:{PORT}")
        nodes.append(Node(processes, name, *bind, *seed, inside=lab.command(host, [])))
        nodes[-1].start()
    processes.until(lambda: all_see(processes, nodes), READY, "no mesh")


class Trial:
    """The mesh, a publisher at each node, and a reader of all messages."""

    def __init__(self, processes: Processes, lab: NetLab, file: MeshFile, dice: Random) -> None:
        self._processes, self._lab, self._dice = processes, lab, dice
        self._seed = admin_seed(processes.place, file)
        self._environ = {"MESH_STATE_DIR": str(processes.place)}
        self._master = ""
        self._is_cut = self._is_over = False
        self._sent = dict.fromkeys(NAMES, 0)
        self._came: dict[str, list[int]] = {name: [] for name in NAMES}
        self._since: dict[str, float] = {}  # first message of each by the current rule
        self._begun, self._heard = asyncio.Event(), asyncio.Event()
        self._found = Found()

    async def run(self, count: int, advance: Callable[[], None]) -> Found:
        async with mesh.connect(FIRST, environ=self._environ) as m:
            reader = asyncio.create_task(self._read(m))
            await self._begun.wait()  # earlier messages are not owed
            publishers = [asyncio.create_task(self._publish(name)) for name in NAMES]
            try:
                await self._change(m, MASTERS[-1])
                self._found.changes.clear()  # the first has no rule before it
                for turn in range(count):
                    await self._befall(turn % TURNS)
                    await asyncio.sleep(self._dice.uniform(0.0, REST))
                    await self._change(m, MASTERS[turn % 2])
                    advance()
                await self._heal()
            finally:
                self._is_over = True
                await asyncio.gather(*publishers)
            await self._all_heard()
            reader.cancel()
        return self._found

    async def _befall(self, turn: int) -> None:
        if turn == CUT:
            self._lab.split(range(1, len(NAMES)), [len(NAMES)])
            self._is_cut = True
        elif turn == HEALED:
            await self._heal()

    async def _heal(self) -> None:
        if not self._is_cut:
            return
        await asyncio.sleep(self._dice.uniform(0.0, LONGER))
        self._lab.join()
        self._is_cut, began = False, time.monotonic()
        self._since.pop(ALONE, None)
        self._found.healed.append(max(await self._went_by({ALONE}), began) - began)

    # --- messages -----------------------------------------------------------------------------------------

    async def _publish(self, name: str) -> None:
        async with mesh.connect(name, environ=self._environ) as m:
            while not self._is_over:
                if not (self._is_cut and name == ALONE):
                    try:
                        m.post(f"k/{name}", b"%d" % self._sent[name], domain=DOMAIN, persistent=True)
                    except mesh.WouldBlock:
                        await m.room()
                        continue
                    self._sent[name] += 1
                await asyncio.sleep(EVERY)
            await m.flush()

    async def _read(self, m: mesh.Client) -> None:
        async with m.subscribe(pattern="k/#", domain=DOMAIN, initial=False) as messages:
            self._begun.set()
            async for message in messages:
                name = message.key.partition("/")[2]
                self._came[name].append(int(message.content))
                if name not in self._since and self._is_by(name, [hop.node for hop in message.route]):
                    self._since[name] = time.monotonic()
                self._heard.set()

    def _is_by(self, name: str, route: Sequence[str]) -> bool:
        """Return whether the route goes from `name` to the current master, and then at most to FIRST."""
        wanted = [*dict.fromkeys((name, self._master))]
        return [*route[: len(wanted)]] == wanted and {*route[len(wanted) :]} <= {FIRST}

    async def _all_heard(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(LIMIT):
                while any(len({*self._came[name]}) < sent for name, sent in self._sent.items()):
                    self._heard.clear()
                    await self._heard.wait()
        counts = [counted(self._sent[name], [self._came[name]]) for name in NAMES]
        self._found.count = Count(sum(c.lost for c in counts), sum(c.doubled for c in counts))

    # --- changes ------------------------------------------------------------------------------------------

    async def _change(self, m: mesh.Client, master: str) -> None:
        names = set(NAMES) - ({ALONE} if self._is_cut else set())
        known: dict[str, Any] = await m.call("rules")
        agreed = NONE.with_(master, AgreedNode((Rule(master, domains=(DOMAIN,)),)))
        row = self._signed(known["next"], msgspec.structs.replace(agreed, base=known["stamp"]))
        self._master, began = master, time.monotonic()
        self._since.clear()
        await m.call("rules_put", row=row, was=known["stamp"], force=True)
        ok = time.monotonic()
        await self._went_by(names)
        last = max(names, key=lambda name: self._since[name])
        seconds = max(self._since[last] - ok, 0.0)
        self._found.changes.append(Change(seconds, ok - began, last, self._is_cut))

    def _signed(self, stamp: int, agreed: Agreed) -> Any:
        row = SharedRow(RULES, "", stamp, packed(agreed), NOBODY, 0)
        row = row.signed(public_key(self._seed), partial(sign, self._seed))
        return msgspec.to_builtins(row, builtin_types=(bytes,))

    async def _went_by(self, names: set[str]) -> float:
        """Wait until a message of each of `names` was routed by the current rule.

        Return the time at which the last of them arrived. Raises Failed after LIMIT seconds.
        """
        try:
            async with asyncio.timeout(LIMIT):
                while not names <= self._since.keys():
                    self._heard.clear()
                    await self._heard.wait()
        except TimeoutError as error:
            late = ", ".join(sorted(names - self._since.keys()))
            raise Failed(f"{late} went by another rule for {LIMIT:g} s") from error
        return max(self._since[name] for name in names)


# --- rows ---------------------------------------------------------------------------------------------------


def told(found: Found, missing: str = "") -> Report:
    """Return the report; `missing` is the reason why nothing could be measured here, or empty."""
    rows = [*_rows(found)] if found.changes else [Row(name, 0.0, missing=missing) for name in ROWS]
    return Report("changes", rows, asdict(found))


ROWS = ("ruled, p50", "ruled, p99", "ruled, worst", "ruled, healed")


def _rows(found: Found) -> Iterator[Row]:
    taken = [change.seconds for change in found.changes]
    cut = [change.seconds for change in found.changes if change.is_cut]
    lost, doubled = found.count.lost, found.count.doubled
    flaw = f"of what was published {lost} lost, {doubled} doubled" if lost or doubled else ""
    worst = max(cut, default=0.0)
    waited = median([change.took for change in found.changes])
    yield Row(ROWS[0], median(taken), f"{len(taken)} changes; OK after {waited:.2g} s", flaw)
    yield Row(ROWS[1], percentile(taken, 0.99), f"{len(cut)} while one is cut off: worst {worst:.2g} s", flaw)
    yield Row(ROWS[2], max(taken), f"OK after {max(c.took for c in found.changes):.2g} s at most", flaw)
    healed, worst = median(found.healed or [0.0]), max(found.healed, default=0.0)
    note = f"from the healing of who was cut off; worst of {len(found.healed)}: {worst:.2g} s"
    yield Row(ROWS[3], healed, note, flaw)
