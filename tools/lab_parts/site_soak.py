"""The promises of two sites while their gateways are killed.

Each site is a host of its own, and the wire between them has delay and packet loss.
"""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import mesh
from mesh.errors import MeshError
from mesh.security.derive import RELAY
from mesh.security.joining import join_site, new_mesh, token_of
from mesh.streams.ranges import Ranges
from tools.lab_parts.frame import kept
from tools.lab_parts.ledger import Came, Count, counted, pairs
from tools.lab_parts.netlab import NetLab
from tools.running.nodes import READY
from tools.running.processes import Failed, Processes, Program

LON, NYC = 1, 2  # hosts
NAMES = {LON: "LON", NYC: "NYC"}
NODES = {LON: ("heron", "hawk", "wren"), NYC: ("gull", "grebe", "tern")}  # the first two are gateways
PORT, STEP = 7710, 10  # of the first node, and between two nodes
DELAY, LOSS = 0.02, 0.01  # s each way, and of all packets
CALM, AWAY = (0.5, 2.0), (0.1, 3.0)  # s between faults, and until a restart
UP, DRAINED, QUIET = 60.0, 180.0, 3.0  # s
TURN = 0.05  # s
PUBLISHERS, READERS = 3, 2
TOPIC = "lab"
CONFIG = """
[discovery]
mdns = false

[site]
name = "{name}"
relay = {relay}

[sites.{other}]
addresses = [{addresses}]
topics = ["{topic}/#"]

[[nodes.{master}.master]]
domains = [""]
"""

Tell = Callable[[float, str], None]  # finished faults, and a description


@dataclass(frozen=True, slots=True)
class SitePlan:
    """The plan: at least `kills` kills of gateways from `seed`, and each publisher's messages per second."""

    kills: int
    rate: int
    seed: int


@dataclass(slots=True)
class SiteResult:
    """The result of a run, with the counts of each reader."""

    counts: dict[str, Count] = field(default_factory=dict)
    faults: Counter[str] = field(default_factory=Counter)
    answered: int = 0
    log: str = ""  # folder of the logs after an error

    @property
    def is_clean(self) -> bool:
        return all(count.is_clean for count in self.counts.values())


def sites_soaked(plan: SitePlan, tell: Tell) -> SiteResult:
    """Run the plan. Raises Failed when a site stops working, or Interrupted."""
    with NetLab(2, switch=True) as lab, Processes() as processes:
        lab.shape(LON, NYC, delay=DELAY, loss=LOSS)
        run = SiteSoak(plan, processes, lab, tell)
        try:
            asyncio.run(run.run())
        except (Failed, MeshError) as error:
            raise Failed(f"seed {plan.seed}: {error} Logs: {kept(processes.place, ('.err',))}") from error
        if not run.result.is_clean:
            run.result.log = str(kept(processes.place, (".err",)))
        return run.result


class SiteSoak:
    """Two sites, publishers in LON, and readers in NYC."""

    def __init__(self, plan: SitePlan, processes: Processes, lab: NetLab, tell: Tell) -> None:
        self._plan, self._processes, self._lab, self._tell = plan, processes, lab, tell
        self._chance = random.Random(plan.seed)
        self._states: dict[int, Path] = {}
        self._programs: dict[str, Program] = {}
        self._answered: dict[int, Ranges] = {n: Ranges() for n in range(PUBLISHERS)}
        self._came: list[dict[int, Came]] = [defaultdict(Came) for _ in range(READERS)]
        self._is_over = False
        self.result = SiteResult()

    async def run(self) -> None:
        self._make()
        for site, names in NODES.items():
            for name in names:
                self._start(site, name)
        async with AsyncExitStack() as stack:
            readers = [await stack.enter_async_context(self._connected(NYC)) for _ in self._came]
            publishers = [await stack.enter_async_context(self._connected(LON)) for _ in self._answered]
            await self._until(lambda: self._is_reached(publishers[0]), UP, "the other site was not reached")
            books = zip(readers, self._came, strict=True)
            reading = [asyncio.create_task(self._read(m, book)) for m, book in books]
            await asyncio.sleep(QUIET)  # until all know the subscriptions
            work = [asyncio.create_task(self._publish(m, n)) for n, m in enumerate(publishers)]
            try:
                await self._befall()
                self._is_over = True
                await asyncio.gather(*work)
                self._tell(self._plan.kills, "waiting for what is on its way")
                await self._until(self._has_all, DRAINED, "not all that was answered came", is_wrong=False)
                await asyncio.sleep(QUIET)
            finally:
                for task in (*reading, *work):
                    task.cancel()
        self._count()

    # --- the sites --------------------------------------------------------------------------------------

    def _make(self) -> None:
        files = {}
        for site, name in NAMES.items():
            state = self._states[site] = self._processes.place / name
            state.mkdir()
            files[site] = new_mesh(state, "default")
        for site, other in ((LON, NYC), (NYC, LON)):
            join_site(self._states[site], NAMES[other], token_of(files[other], RELAY, 0, NAMES[site]))
            for name in NODES[site]:
                places = [f'"tcp://{self._lab.address(other)}:{PORT + STEP * n}"' for n in range(2)]
                said = CONFIG.format(
                    name=NAMES[site],
                    relay=str(name in NODES[site][:2]).lower(),
                    other=NAMES[other],
                    addresses=", ".join(places),
                    topic=TOPIC,
                    master=NODES[site][2],
                )
                (self._states[site] / f"{name}.toml").write_text(said)

    def _start(self, site: int, name: str) -> None:
        host, state = self._lab.address(site), self._states[site]
        inside = [*self._lab.command(site, []), "env", f"MESH_STATE_DIR={state}"]
        options = ["--json", "--no-mdns", "--id", name, "--config", str(state / f"{name}.toml")]
        options += ["--bind", f"tcp://{host}:{PORT + STEP * NODES[site].index(name)}"]
        for n, other in enumerate(NODES[site]):
            options += ["--peer", f"tcp://{host}:{PORT + STEP * n}"] if other != name else []
        self._programs[name] = self._processes.start(name, "mesh", "up", *options, inside=inside)

    def _connected(self, site: int) -> mesh.Client:
        name = NODES[site][2]
        self._processes.until(lambda: self._is_ready(name), READY, f"{name} was not ready")
        return mesh.connect(name, environ={"MESH_STATE_DIR": str(self._states[site])})

    def _is_ready(self, name: str) -> bool:
        program = self._programs[name]
        if program.ended():
            raise Failed(f"{name} ended by itself: {program.words()}")
        return "\n" in program.out.read_text()

    async def _is_reached(self, m: mesh.Client) -> bool:
        return all(site.state == "up" for site in (await m.views()).remote.values())

    # --- faults ---------------------------------------------------------------------------------------------

    async def _befall(self) -> None:
        """Kill and restart a gateway, or both of a site, until the plan is done."""
        done = 0
        while done < self._plan.kills:
            site = self._chance.choice((LON, NYC))
            both = list(NODES[site][:2])
            victims = both if self._chance.random() < 0.25 else [self._chance.choice(both)]
            self._tell(done, f"kill {' and '.join(victims)}")
            for name in victims:
                self._programs[name].signal(signal.SIGKILL)
            self.result.faults[" and ".join(victims)] += 1
            done += len(victims)
            await asyncio.sleep(self._chance.uniform(*AWAY))
            for name in victims:
                await self._until(self._programs[name].ended, READY, f"{name} did not end")
                self._start(site, name)
            await asyncio.sleep(self._chance.uniform(*CALM))

    async def _publish(self, m: mesh.Client, who: int) -> None:
        number = 0
        while not self._is_over:
            number += 1
            content = bytes((who,)) + number.to_bytes(8)
            await m.publish(f"{TOPIC}/{who}", content, persistent=number % 4 > 0)
            self._answered[who].add(number, number)
            await asyncio.sleep(1 / self._plan.rate)

    async def _read(self, m: mesh.Client, came: dict[int, Came]) -> None:
        async with m.subscribe(pattern=f"{TOPIC}/#", initial=False) as messages:
            async for message in messages:
                came[message.content[0]].take(int.from_bytes(message.content[1:]))

    def _has_all(self) -> bool:
        return all(
            came[who].numbers.covers(first, last)
            for came in self._came
            for who, answered in self._answered.items()
            for first, last in pairs(answered)
        )

    def _count(self) -> None:
        self.result.answered = sum(sum(b - a + 1 for a, b in pairs(each)) for each in self._answered.values())
        for n, came in enumerate(self._came):
            counts = [counted(pairs(of), came[who].described()) for who, of in self._answered.items()]
            self.result.counts[f"{NODES[NYC][2]}, {n + 1}"] = sum(counts, Count())

    async def _until(
        self, condition: Callable[[], object], limit: float, failure: str, is_wrong: bool = True
    ) -> None:
        """Wait for a condition, which may be a coroutine function, for at most `limit` seconds.

        Raises Failed if it does not hold by then, unless `is_wrong` is false.
        """
        end = asyncio.get_running_loop().time() + limit
        while True:
            found = condition()
            if await found if asyncio.iscoroutine(found) else found:
                return
            if asyncio.get_running_loop().time() >= end:
                if is_wrong:
                    raise Failed(f"{failure} within {limit:g} s.")
                return
            await asyncio.sleep(TURN)
