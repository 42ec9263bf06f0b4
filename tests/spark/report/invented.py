"""Invented facts of a mesh of any size, without Spark: the same at each call."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from math import exp, pi, sin
from random import Random
from typing import Any

from mesh.history.report.assembling import assemble
from mesh.history.report.facts import Facts
from mesh.history.report.message_rows import Counter, Fare, Parts, Quality, Queue, Service, Topic
from mesh.history.report.node_rows import (
    Clock,
    Coverage,
    Detection,
    Flapping,
    Forecast,
    Life,
    Link,
    Load,
    Quarantined,
)

END = datetime(2026, 11, 21, 9, 58, 24, tzinfo=UTC)
BIRDS = ("heron", "crane", "wren", "stork", "ibis", "avocet", "bittern", "curlew", "dunlin", "egret")
CLIENTS = ("joe", "ann", "billing", "kim")
KEYS = (
    "orders/new",
    "sensors/kitchen/temp",
    "sensors/attic/temp",
    "prices/eur",
    "prices/usd",
    "chat/lobby",
    "logs/web",
    "logs/db",
    "jobs/render",
    "jobs/mail",
    "alerts",
)
WIDTH = 900  # s


def names(count: int) -> list[str]:
    """Return names such as "heron"; if there are many, such as "heron-01.rack7" and one very long one."""
    if count <= len(BIRDS):
        return list(BIRDS[:count])
    many = [f"{BIRDS[n % 10]}-{n // 10 + 1:02}.rack{n % 7 + 1}" for n in range(count - 1)]
    return [*many, "a-node-whose-name-somebody-made-as-long-as-it-is-allowed-to-be-x"]


def empty() -> Facts:
    """Return the facts of a time of which nothing is known."""
    nothing: dict[str, Any] = dict.fromkeys(
        ("counters", "balance", "lives", "flapping", "detections", "links", "queues", "parts", "topics",
         "services", "forecasts", "clocks", "coverage", "quarantined"), ()
    )  # fmt: skip
    return assemble(
        load=(), fares=(), width_s=0, made_at=END, clusters=(), since=None, until=None, kinds={}, **nothing
    )


@cache
def facts(count: int, hours: int = 24, seed: int = 7) -> Facts:
    """Return a day of a mesh. The second node is slow, the third flaps, one clock is off, a queue grows."""
    return Mesh(count, hours, Random(seed)).facts()


class Mesh:
    """The nodes of an invented mesh, and what happened to them."""

    def __init__(self, count: int, hours: int, dice: Random) -> None:
        self.names, self.dice, self.hours = names(count), dice, hours
        self.start = datetime(2026, 11, 21, 10, tzinfo=UTC) - timedelta(hours=hours)
        self.busy = {name: dice.betavariate(2, 4) for name in self.names}
        self.slow = self.names[1] if count > 1 else ""
        self.restless = self.names[2::37]
        self.gone = self.names[5::60]

    def facts(self) -> Facts:
        load = [row for name in self.names for row in self.load(name)]
        return assemble(
            load=load, width_s=WIDTH, made_at=END + timedelta(minutes=3), clusters=("lab",), since=self.start,
            until=END, kinds=self.kinds(), counters=self.counters(), balance=self.balance(),
            lives=self.lives(), flapping=self.flapping(), detections=self.detections(), links=self.links(),
            queues=self.queues(), parts=self.parts(), topics=self.topics(), services=self.services(),
            fares=self.fares(load), forecasts=self.forecasts(), clocks=self.clocks(),
            coverage=self.coverage(), quarantined=self.quarantined(),
        )  # fmt: skip

    def kinds(self) -> dict[str, int]:
        states = len(self.names) * self.hours * 1800
        return {
            "state": states,
            "link": states // 4,
            "balance": states // 9,
            "queue": states // 11,
            "topic": states // 20,
            "service": states // 30,
            "event": 14 + len(self.names),
            "quarantine": 4,
        }

    def load(self, name: str) -> list[Load]:
        """Return a node's load: more by day than by night, with bursts, and without rows while it is away."""
        rows, level = [], self.busy[name]
        for number in range(self.hours * 3600 // WIDTH):
            when = self.start + timedelta(seconds=number * WIDTH)
            if self.is_away(name, number):
                continue
            day = 0.55 + 0.45 * sin(2 * pi * (when.hour + when.minute / 60 - 8) / 24)
            burst = 0.3 if self.dice.random() > 0.98 else 0.0
            load = min(1.0, max(0.01, level * day + burst + self.dice.gauss(0, 0.02)))
            rate = 900 * load * (1.3 - 0.6 * (name == self.slow))
            lag = self.dice.expovariate(400) + (0.18 + self.dice.random() / 9 if name == self.slow else 0)
            rows.append(
                Load(
                    bucket_at=when,
                    node=name,
                    cpu_percent=100 * load,
                    load_share=load,
                    lag_s=lag,
                    ram_percent=30 + 40 * level + number / 12,
                    published_per_s=rate,
                    delivered_per_s=2.2 * rate,
                    pending=int(self.dice.expovariate(0.2)) if load > 0.3 else 0,
                    tailback=40 * number if name == self.slow and number > 40 else 0,
                    queued=None,
                )
            )
        return rows

    def is_away(self, name: str, number: int) -> bool:
        return (name in self.restless and number % 17 in (4, 5)) or (name in self.gone and number > 70)

    def lives(self) -> tuple[Life, ...]:
        found = []
        for name in self.names:
            starts = range(0, self.hours, 4) if name in self.restless else [0]
            for boot, hour in enumerate(starts, 1):
                since = self.start + timedelta(hours=hour, seconds=self.dice.random() * 5)
                is_last = hour == starts[-1]
                until = END if is_last else since + timedelta(hours=3.6)
                ended = ("there" if is_last else "dead") if boot % 3 else "stopped"
                if name in self.gone:
                    until, ended = self.start + timedelta(hours=17.6), "dead"
                found.append(
                    Life(
                        node=name,
                        boot=boot,
                        first_at=since,
                        last_at=until,
                        ended=ended,
                        ended_at=None if ended == "there" else until,
                    )
                )
        return tuple(found)

    def flapping(self) -> tuple[Flapping, ...]:
        found = []
        for name in self.names:
            lives = [life for life in self.lives() if life.node == name] if name in self.restless else []
            suspicions = len(lives) + (self.dice.random() > 0.95)
            deaths = sum(life.ended == "dead" for life in lives) + (name in self.gone)
            found.append(
                Flapping(
                    node=name,
                    suspicions=suspicions,
                    refutations=suspicions // 2,
                    deaths=deaths,
                    restarts=max(0, len(lives) - 1),
                    seen_hours=self.hours * 0.97,
                    changes_per_hour=(deaths + len(lives)) / self.hours,
                )
            )
        return tuple(found)

    def detections(self) -> tuple[Detection, ...]:
        ended = [life for life in self.lives() if life.ended in ("dead", "stopped") and life.ended_at]
        found = []
        for number, life in enumerate(ended):
            first, spread = 0.9 + self.dice.expovariate(1.2), self.dice.expovariate(0.8)
            lived_on = number % 11 == 7
            found.append(
                Detection(
                    how="left" if life.ended == "stopped" else "dead",
                    node=life.node,
                    boot=life.boot,
                    last_at=None if lived_on else life.last_at,
                    first_observer=self.names[0],
                    first_at=life.last_at + timedelta(seconds=first),
                    first_s=None if lived_on else first,
                    final_s=None if lived_on else first + spread,
                    observers=len(self.names) - 1,
                    lived_on=lived_on,
                )
            )
        return tuple(found)

    def masters(self) -> list[str]:
        return self.names[: max(2, min(40, len(self.names)))] if len(self.names) > 1 else []

    def balance(self) -> tuple[Quality, ...]:
        masters, found = self.masters(), []
        for number, observer in enumerate(masters):
            room = {name: (1 - self.busy[name]) * self.dice.choice((4, 8)) for name in masters}
            got = {name: room[name] * exp(self.dice.gauss(0, 0.1)) for name in masters}
            if number % 3 == 0:
                got[masters[-1]] *= 2.4
            chosen = {name: round(60_000 * got[name] / sum(got.values())) for name in masters}
            ratios = [chosen[n] / sum(chosen.values()) / (room[n] / sum(room.values())) for n in masters]
            mean = sum(ratios) / len(ratios) if ratios else 1
            variation = (sum((r - mean) ** 2 for r in ratios) / max(1, len(ratios))) ** 0.5 / mean
            for name, ratio in zip(masters, ratios, strict=True):
                found.append(
                    Quality(
                        observer=observer,
                        observer_uuid=observer.encode().hex()[:32],
                        node=name,
                        sent=chosen[name] + 12,
                        chosen=chosen[name],
                        chosen_share=chosen[name] / sum(chosen.values()),
                        answered=chosen[name] // 10,
                        latency_ms=0.8 + 9 * self.busy[name],
                        capacity_share=room[name] / sum(room.values()),
                        chosen_ratio=ratio,
                        chosen_variation=variation,
                    )
                )
        return tuple(found)

    def counters(self) -> tuple[Counter, ...]:
        return tuple(
            Counter(
                observer=row.observer,
                observer_uuid=row.observer_uuid,
                observer_boot=1 + len(row.observer) % 3,
                node=row.node,
                sent=row.sent,
                chosen=row.chosen,
                asked=row.answered + 1,
                answered=row.answered,
                seconds=row.answered * (row.latency_ms or 0) / 1000,
                clean=row.observer != self.slow,
            )
            for row in self.balance()
        )

    def links(self) -> tuple[Link, ...]:
        found = []
        for a, observer in enumerate(self.names):
            for b, node in enumerate(self.names):
                if a == b or (len(self.names) > 20 and (a * 31 + b * 17) % 9 > 1):
                    continue
                far = 0.31 if a % 7 == b % 7 else 1.6
                rtt = far * exp(self.dice.gauss(0, 0.2)) + (45 if self.slow in (observer, node) else 0)
                lost = 4 if node in self.restless else 0
                state = "logged in" if node not in self.gone else "polling"
                found.append(
                    Link(
                        observer=observer,
                        node=node,
                        state=state,
                        rtt_median_ms=rtt,
                        rtt_p95_ms=rtt * 3.1,
                        logged_in_share=0.93 if lost else 1.0,
                        lost=lost,
                    )
                )
        return tuple(found)

    def queues(self) -> tuple[Queue, ...]:
        if not self.slow:
            return ()
        grows = Queue(
            observer=self.names[0],
            queue=f"tailback/{self.slow}",
            depth=3840,
            bytes=1_966_080,
            oldest_s=5214.0,
            consumers=None,
            arrives_per_s=None,
            leaves_per_s=None,
            depth_max=3840,
            growth_per_hour=266.3,
            verdict="growing",
        )
        rest = [
            Queue(
                observer=name,
                queue=f"session//node/{name}/client/{who}/session/1",
                depth=n % 5,
                bytes=n * 212,
                oldest_s=0.4 * n,
                consumers=None,
                arrives_per_s=None,
                leaves_per_s=None,
                depth_max=40 + n,
                growth_per_hour=(n % 3 - 1) * 0.4,
                verdict=("draining", "steady", "unknown")[n % 3],
            )
            for n, (name, who) in enumerate(zip(self.names[1:], CLIENTS * 20, strict=False))
        ]
        jobs = Queue(
            observer=self.names[-1],
            queue="queue/jobs",
            depth=12,
            bytes=6_144,
            oldest_s=1840.0,
            consumers=0,
            arrives_per_s=0.31,
            leaves_per_s=0.28,
            depth_max=310,
            growth_per_hour=0.0,
            verdict="steady",
        )
        return (grows, *rest, jobs)

    def parts(self) -> tuple[Parts, ...]:
        if not self.slow:
            return ()
        return (
            Parts(
                queue="queue/jobs",
                parts=2,
                put=26_784,
                moved=9_120,
                moved_share=0.34,
                stranded_share=0.06,
                stranded_max=310,
                starved_share=0.02,
                starved_max=12,
            ),
        )

    def topics(self) -> tuple[Topic, ...]:
        many = [int(4_000_000 / (n + 1) ** 1.3) for n in range(len(KEYS))]
        return tuple(
            Topic(
                domain="shop" if n % 4 == 0 else None,
                topic=key,
                messages=many[n],
                messages_per_s=many[n] / self.hours / 3600,
                bytes=many[n] * (80 + 300 * n),
                masters=1 + n % 3,
            )
            for n, key in enumerate(KEYS)
        )

    def services(self) -> tuple[Service, ...]:
        """Return the services. No node serves the last key. Every tenth request to the second key fails."""
        found = []
        for n, key in enumerate(KEYS[::2] if self.slow else ()):
            requests = int(800_000 / (n + 1) ** 1.5)
            failures = requests // 10 if n == 1 else 0
            for node in self.names[n % 2 : 6 : 2] if key != KEYS[-1] else [""]:
                slow = 40 if node == self.slow else 1
                found.append(
                    Service(
                        address=key,
                        node=node,
                        requests=requests,
                        requests_per_s=requests / self.hours / 3600,
                        replies=requests - failures if node else 0,
                        failed=failures - failures // 3,
                        lost=failures // 3,
                        refused=0 if node else requests,
                        expired=0,
                        sent=9 * n,
                        mean_ms=2.3 * slow if node else None,
                        p50_ms=1.9 * slow if node else None,
                        p99_ms=31.0 * slow if node else None,
                        callers=1 + n % 3,
                    )
                )
        return tuple(found)

    def fares(self, load: list[Load]) -> list[Fare]:
        times = sorted({row.bucket_at for row in load})
        return [
            Fare(
                bucket_at=when,
                address=key,
                requests_per_s=20 / (n + 1) * (1 + 0.5 * sin(number / 15)),
                failures_per_s=2.0 if n == 1 else 0.0,
                p50_ms=2 + n + self.dice.random(),
                p99_ms=30 + 9 * n + 20 * self.dice.random(),
            )
            for n, key in enumerate(KEYS[:-1:2] if self.slow else ())
            for number, when in enumerate(times)
            if number % 40 != 7
        ]

    def forecasts(self) -> tuple[Forecast, ...]:
        found = []
        for number, name in enumerate(self.names):
            rate = 900 * self.busy[name] * 3.2 * 0.55
            could = rate / (0.1 + self.busy[name] * 0.8)
            known = number % 5 != 3
            full = END + timedelta(days=3, hours=number % 11) if number % 50 == 4 else None
            found.append(
                Forecast(
                    node=name,
                    points=8640 if known else 12,
                    rate_per_s=rate,
                    load_share=self.busy[name],
                    capacity_per_s=could if known else None,
                    capacity_low_per_s=0.8 * could if known else None,
                    capacity_high_per_s=1.35 * could if known else None,
                    reason=None if known else "only 12 of 30 points of 10 s",
                    full_at=full,
                    full_first_at=full and full - timedelta(days=1),
                    full_last_at=full and full + timedelta(days=4),
                )
            )
        return tuple(sorted(found, key=lambda row: -(row.rate_per_s or 0) / (row.capacity_per_s or 1e9)))

    def clocks(self) -> tuple[Clock, ...]:
        if len(self.names) == 1:
            return ()
        found = [
            Clock(node=name, skew_s=self.dice.gauss(0, 0.006), observers=min(32, len(self.names) - 1))
            for name in self.names
        ]
        return (*found[:-1], replace(found[-1], skew_s=10_812.4))

    def coverage(self) -> tuple[Coverage, ...]:
        return tuple(
            Coverage(
                node=name,
                boots=6 if name in self.restless else 1,
                states=self.hours * 1800 - 9,
                states_lost=9 if number % 40 == 2 else 0,
                first_at=self.start,
                last_at=END,
                gap_s=1440.0 if name in self.restless else 2.2,
                gap_at=self.start + timedelta(hours=3.6),
                lines=self.hours * 900,
                future=0,
                past=3 if number == 6 else 0,
            )
            for number, name in enumerate(self.names)
        )

    def quarantined(self) -> tuple[Quarantined, ...]:
        return (
            Quarantined(
                reason="not JSON", node=self.names[0], rows=3, segments=1, example='{"kind":"state","clus'
            ),
            Quarantined(
                reason="cpu: 640.0 is not from 0 to 100",
                node=None,
                rows=1,
                segments=1,
                example='{"kind": "state", "cpu": 640.0, "node": "<b>bold</b>"}',
            ),
        )
