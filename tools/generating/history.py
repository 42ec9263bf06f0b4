"""The simulation of a generated mesh, tick by tick: nodes start, publish, count and end, and write it all."""

import random
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mesh.snapshots.line import EVENT
from tools.generating import figures, wording
from tools.generating.blemishes import Blemishes
from tools.generating.cast import LINKED, SECOND, Machine, asked_by, linked_to
from tools.generating.cast import draw as draw_machines
from tools.generating.fates import TICK, WAITING, End, Life
from tools.generating.fates import draw as draw_lives
from tools.generating.roster import EVERYBODY, Alive, Roster
from tools.generating.segments import Log, Shelf
from tools.generating.truth import Boot, Truth

HOP = 700  # µs from a node to the receivers
STARTED, MET = 1_000, 30_000  # µs within a tick
NEWS, FIGURES, GOODBYE = 1_800_000, 1_900_000, 1_950_000
EVERY = 5  # ticks between two figures
ROUND = 4096  # ticks between two lines of figures


@dataclass(frozen=True, slots=True)
class Wish:
    """The request for a history.

    `since` is in µs since 1970. `close` is the number of ticks after which a segment is closed.
    """

    nodes: int
    ticks: int
    since: int
    seed: int
    place: Path
    late: Path
    close: int = EVERY
    lines: int | None = None  # enough of them end it sooner
    clean: bool = False  # no malformed lines


class History:
    """A generated history.

    `run` writes it; afterwards `truth` and `summary` describe it.
    """

    def __init__(self, wish: Wish) -> None:
        chance = random.Random(wish.seed)
        self.machines = draw_machines(wish.nodes, chance)
        self.lives = draw_lives([machine.first_boot for machine in self.machines], wish.ticks, chance)
        self.truth = Truth()
        self.until = wish.since
        self._wish = wish
        blemishes = Blemishes(random.Random(wish.seed), wish.clean)
        self._shelf = Shelf(wish.place, wish.late, self.truth, blemishes)
        self._noise = [min(1.5, max(0.5, chance.gauss(1, 0.12))) for _ in range(ROUND)]
        self._roster = Roster()
        self._about: dict[int, str] = {}  # the last boot of each machine
        self._starts: dict[int, list[Life]] = defaultdict(list)
        self._news: dict[int, list[tuple[Alive, str]]] = defaultdict(list)  # tick -> (subject, line)
        self._finished = 0  # lines of boots that have ended
        for life in self.lives:
            self._starts[life.start].append(life)

    def run(self) -> None:
        tick = 0
        while not self._tick(tick):
            tick += 1
        self.until = self._at(tick + 1)

    def summary(self) -> dict[str, Any]:
        machines = {
            machine.name: {
                "uuid": machine.uuid,
                "cores": machine.cores,
                "capacity": machine.capacity,
                "latency": machine.latency,
                "peak": machine.peak,
                "clock_ahead": machine.clock.ahead / SECOND,
                "clock_unset": machine.clock.unset / SECOND,
            }
            for machine in self.machines
        }
        wish = self._wish
        return {
            "nodes": wish.nodes,
            "seed": wish.seed,
            "since": wording.moment(wish.since),
            "until": wording.moment(self.until),
            **self.truth.summary(),
            "machines": machines,
        }

    def _at(self, tick: int, within: int = 0) -> int:
        return self._wish.since + tick * TICK + within

    def _chance(self, number: int) -> float:
        return self._noise[number * 2_654_435_761 % 2**32 >> 20]

    def _tick(self, tick: int) -> bool:
        """Simulate a tick, and return whether it was the last one."""
        self._start(tick)
        self._speak(tick)
        is_last = tick == self._wish.ticks - 1 or self._has_enough()
        self._tell(tick)
        for node in self._roster.speakers:
            if (tick + node.machine.index) % EVERY == 0:
                self._figures(node, self._at(tick, FIGURES))
        self._stop(tick, is_last)
        for node in self._roster.speakers:
            if (tick + node.machine.index) % self._wish.close == 0:
                node.log.close(self._at(tick + 1))
        return is_last

    def _has_enough(self) -> bool:
        if self._wish.lines is None:
            return False
        written = self._finished + sum(node.log.line for node in self._roster.speakers)
        return written >= self._wish.lines

    # --- starts and ends ------------------------------------------------------------------------------------

    def _start(self, tick: int) -> None:
        lives = self._starts.pop(tick, [])
        if not lives:
            return
        at = self._at(tick)
        new = []
        for life in lives:
            machine = self.machines[life.index]
            node = Alive(machine, life, at, Log(machine, life.boot, self._shelf, at), len(self.machines))
            started = wording.event("started", f"boot {life.boot}")
            node.log.add(EVENT, at + STARTED, f"{node.about}0.0{started}")
            self._about[life.index] = node.about
            new.append(node)
        self._roster.add(new)
        for node in new:
            joined = wording.event("joined", f"{node.machine.name} (boot {node.life.boot}), found by mdns")
            self._say(node, f"0.01{joined}", at + MET)
        for node in new:
            for other in self._roster.speakers:
                if other not in new:
                    text = f"{other.machine.name} (boot {other.life.boot}), found by mdns"
                    node.log.add(EVENT, at + MET, f"{other.about}0.01{wording.event('joined', text)}")

    def _die(self, node: Alive, tick: int) -> None:
        life, name = node.life, node.machine.name
        self._roster.remove([node])
        if life.how is End.GONE:
            node.log.abandon()
        else:
            node.log.close(0)
        self._remember(node, self._at(tick, life.at))
        suspect, dead = (tick + 2, tick + WAITING) if life.how is End.SILENT else (tick, tick)
        self._news[suspect].append((node, wording.event("suspect", f"{name} does not answer")))
        self._news[dead].append(
            (node, wording.event("dead", f"{name} (boot {life.boot}) is dead: no answer"))
        )

    def _stop(self, tick: int, is_last: bool) -> None:
        """Stop the nodes whose boots end with a goodbye in this tick, or all nodes in the last tick."""
        at = self._at(tick, GOODBYE)
        going = [node for node in self._roster.speakers if is_last or node.life.end == tick]
        for node in going:
            self._figures(node, at)
            node.log.add(EVENT, at, f"{node.about}0.0{wording.event('stopped', 'said goodbye')}")
            node.log.close(at)
            self._remember(node, at, End.STOPPED)
        if going:
            self._roster.remove(going)
        for node in going:
            left = wording.event("left", f"{node.machine.name} (boot {node.life.boot}) left")
            self._say(node, f"0.0{left}", at + HOP)

    def _remember(self, node: Alive, at: int, how: End | None = None) -> None:
        machine, life = node.machine, node.life
        balance = {
            self.machines[index].name: {
                "chosen": int(chosen),
                "sent": int(sent),
                "asked": int(asked),
                "answered": int(answered),
                "seconds": round(seconds, 6),
            }
            for index, (chosen, sent, asked, answered, seconds) in node.given.items()
        }
        services = {
            self.machines[index].name: {
                "requests": int(requests),
                "replies": int(replies),
                "failed": int(failed),
                "lost": int(lost),
                "seconds": round(seconds, 6),
            }
            for index, (requests, replies, failed, lost, seconds) in node.requested.items()
        }
        topics = {topic.name: taken for topic, taken in zip(machine.topics, node.taken, strict=True)}
        self._finished += node.log.line
        self.truth.boots.append(
            Boot(
                machine.name,
                machine.uuid,
                life.boot,
                wording.moment(node.began),
                wording.moment(at),
                how or life.how,
                node.log.line,
                balance,
                topics,
                services,
            )
        )

    # --- states and events
    # -----------------------------------------------------------------------------------

    def _speak(self, tick: int) -> None:
        """Publish the states of all nodes in their order; nodes that die do so in between."""
        dying = [node for node in self._roster.speakers if node.life.end == tick and node.dies]
        dying.sort(key=lambda node: node.life.at, reverse=True)
        for node in self._roster.speakers:
            while dying and dying[-1].life.at <= node.machine.said_at:
                self._die(dying.pop(), tick)
            if node.machine.index in self._roster.alive:
                self._state(node, self._at(tick, node.machine.said_at))
        for node in reversed(dying):
            self._die(node, tick)

    def _state(self, node: Alive, at: int) -> None:
        """Publish the state of a node, which other nodes and the node itself write."""
        machine, log = node.machine, node.log
        if machine.clock.unset:
            log.offset = machine.clock.offset(at, node.began)
        node.version += 1
        busy = min(figures.BUSIEST, machine.busy(at) * self._chance(at // TICK + 31 * machine.index))
        rest = wording.state(
            machine,
            node.version,
            at + log.offset,
            at - node.began,
            busy,
            sum(node.waited),
            len(machine.queues),
            min(LINKED, len(self._roster.alive) - 1),
        )
        log.add_state(at + HOP, f"{node.about}0.0{rest}")
        heard = f"{node.about}0.001{rest}"
        for writer in node.writers:
            writer.add_state(at + HOP, heard)
        if not node.writers:
            log.lonely += 1
        self.truth.states += 1

    def _tell(self, tick: int) -> None:
        for node, rest in self._news.pop(tick, []):
            self._say(node, f"1.5{rest}", self._at(tick, NEWS))

    def _say(self, about: Alive, rest: str, at: int) -> None:
        """Write an event at all other nodes.

        `rest` begins with the age of the event.
        """
        for other in self._roster.speakers:
            if other is not about:
                other.log.add(EVENT, at, f"{about.about}{rest}")

    def _figures(self, node: Alive, at: int) -> None:
        figures.write(node, self._roster.alive, self._about, at, self._chance)


def lines_a_tick(machines: list[Machine]) -> float:
    """Return the usual number of lines per tick, while all nodes are alive."""
    count = len(machines)
    states = count * (count if count <= EVERYBODY else 3)
    others = sum(
        len(linked_to(m.index, count)) + len(asked_by(m.index, count)) + len(m.queues) + len(m.topics)
        for m in machines
    )
    return states + others / EVERY
