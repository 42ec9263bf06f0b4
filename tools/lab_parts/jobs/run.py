"""A run: jobs from one database through queues into another, with kills, and the count of each job.

Each row of the source's outbox must be done once, and each job of the source at the end. A restore of the
source forgets rows, so their jobs are written again, as other rows.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from tools.lab_parts.jobs.databases import Database, Postgres, PostgresCluster, Sqlite
from tools.lab_parts.jobs.programs import JOBS, RESULTS
from tools.running.nodes import ANYWHERE, Node
from tools.running.processes import Failed, Processes, Program

HERE = "tools.lab_parts.jobs.programs"
STANDSTILL = 180.0  # s without a new result
TABLES = (
    "CREATE TABLE source (job bigint PRIMARY KEY)",
    "CREATE TABLE jobs (job bigint, message text)",
    "CREATE TABLE results (job bigint, message text)",
)


@dataclass(frozen=True, slots=True)
class JobsPlan:
    """`count` jobs, and a kill every `pause` seconds on average, from `seed`."""

    count: int
    pause: float
    is_sqlite: bool
    seed: int
    restores: int = 0


@dataclass(slots=True)
class JobsResult:
    """The kills of a run, its seconds, and its anomalies; `log` has the end of the programs' stderr."""

    kills: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    anomalies: list[str] = field(default_factory=list)
    log: str = ""


class JobsRun:
    """The programs of a run, which are started again after each kill."""

    def __init__(self, plan: JobsPlan, processes: Processes, source: Database, target: Database) -> None:
        self._plan, self._processes = plan, processes
        self.source, self.target = source, target
        self._random = random.Random(plan.seed)
        self._node = Node(processes, "heron", *ANYWHERE)
        self._programs: dict[str, tuple[Program, tuple[str, ...]]] = {}
        self.result = JobsResult()

    def prepare(self) -> None:
        self._node.start()
        for database in (self.source, self.target):
            self._ran("mesh", "tx", "init-db", database.url)
            with closing(database.connect()) as db:
                for table in TABLES:
                    db.execute(table)
                db.commit()
        for queue in (JOBS, RESULTS):
            # A job whose consumer is killed counts as a failed attempt.
            self._ran("mesh", "queue", "create", queue, "--max-attempts", "255")

    def _ran(self, *command: str) -> None:
        ran = self._processes.run("command", *command)
        if ran.code:
            raise Failed(f"{' '.join(command)} ended with {ran.code}: {ran.words()}")

    def start(self) -> None:
        source, target = self.source.url, self.target.url
        for name, database in (("a", source), ("b", source), ("c", target), ("d", target)):
            self._start(f"sender-{name}", "mesh", "tx", "send", database, "--url", "heron")
        for name, queue in (("a", JOBS), ("b", JOBS), ("c", RESULTS)):
            self._start(f"worker-{name}", HERE, "work", target, "heron", queue)
        self._start("writer", HERE, "write", source, str(self._plan.count))

    def _start(self, name: str, *command: str) -> None:
        self._programs[name] = self._processes.start(name, *command), command

    def restart_ended(self) -> None:
        for name, (program, command) in list(self._programs.items()):
            if program.ended() and (name != "writer" or program.code):
                self._start(name, *command)

    def kill_one(self) -> None:
        """Kill a program, the node or a database, and start it again."""
        victims = ["node", "database", *self._programs]
        victim = self._random.choice(victims)
        if victim == "node":
            self._node.kill()
            self._node.start()
        elif victim == "database":
            self._random.choice((self.source, self.target)).kill()
        else:
            program, _ = self._programs[victim]
            self._processes.end([program], 9)
        self.result.kills[victim.partition("-")[0]] += 1
        self.restart_ended()

    def restore(self) -> None:
        """Restore the copy of the source under load, and begin to write again where it ends."""
        self.source.restore()
        self.result.kills["restore"] += 1
        program, command = self._programs["writer"]
        self._processes.end([program], 9)
        self._start("writer", *command)

    def progress(self) -> int:
        with closing(self.target.connect()) as db:
            return int(db.execute("SELECT count(DISTINCT job) FROM results").fetchone()[0])

    def is_over(self) -> bool:
        """Return whether all jobs are written and done, and no row waits to be sent."""
        return self.progress() == self._plan.count and not any(self._left(each) for each in self._both())

    def _both(self) -> tuple[Database, Database]:
        return self.source, self.target

    @staticmethod
    def _left(database: Database) -> int:
        with closing(database.connect()) as db:
            return int(db.execute("SELECT count(*) FROM heronry_outbox").fetchone()[0])

    def judge(self) -> None:
        """Note each job that was done twice or not at all."""
        expected = set(range(self._plan.count))
        with closing(self.source.connect()) as db:
            written = {job for (job,) in db.execute("SELECT job FROM source").fetchall()}
        if written != expected:
            self.result.anomalies.append(f"{len(expected - written)} jobs were never written")
        with closing(self.target.connect()) as db:
            for table in (JOBS, RESULTS):
                rows = db.execute(f"SELECT job, message FROM {table}").fetchall()
                lost = expected - {job for job, _ in rows}
                twice = [row for row, n in Counter(message for _, message in rows).items() if n > 1]
                jobs = [job for job, n in Counter(job for job, _ in rows).items() if n > 1]
                if lost:
                    self.result.anomalies.append(f"{table}: lost {sorted(lost)[:10]}, in all {len(lost)}")
                if twice:
                    self.result.anomalies.append(f"{table}: done twice {twice[:10]}, in all {len(twice)}")
                if jobs and not self._plan.restores:
                    self.result.anomalies.append(f"{table}: jobs twice {jobs[:10]}, in all {len(jobs)}")

    def words(self) -> str:
        found = ((name, program.words()) for name, (program, _) in self._programs.items())
        return "\n".join(f"{name}: {words}" for name, words in found if words)


def jobs_done(plan: JobsPlan, tell: Callable[[float, str], None]) -> JobsResult:
    """Run a plan. Raises: Failed if nothing moves any more, Interrupted."""
    cluster: Any = None if plan.is_sqlite else PostgresCluster()
    try:
        with Processes() as processes:
            source, target = (
                Sqlite(processes.place, name) if plan.is_sqlite else Postgres(cluster, name)
                for name in ("source", "target")
            )
            run = JobsRun(plan, processes, source, target)
            begun = time.monotonic()
            try:
                run.prepare()
                run.start()
                _befall(plan, run, processes, tell)
            except Failed as error:
                raise Failed(f"{error}\n{run.words()}") from error
            run.judge()
            run.result.seconds = time.monotonic() - begun
            run.result.log = run.words()
            return run.result
    finally:
        if cluster is not None:
            cluster.close()


def _befall(plan: JobsPlan, run: JobsRun, processes: Processes, tell: Callable[[float, str], None]) -> None:
    """Kill until all jobs are done. A copy of the source is restored at even parts of the way."""
    chance = random.Random(plan.seed + 1)
    best, moved, restored, has_dump = 0, time.monotonic(), 0, False
    while not run.is_over():
        processes.pause(chance.expovariate(1 / plan.pause))
        if has_dump and best > plan.count * (restored + 0.8) / max(1, plan.restores):
            run.restore()
            restored, has_dump = restored + 1, False
        elif (
            restored < plan.restores and not has_dump and best > plan.count * (restored + 0.4) / plan.restores
        ):
            run.source.dump()
            has_dump = True
        elif best < plan.count:
            run.kill_one()
        run.restart_ended()
        done = run.progress()
        if done > best:
            best, moved = done, time.monotonic()
            tell(best, f"{best:,} jobs, {run.result.kills.total()} kills")
        if time.monotonic() > moved + STANDSTILL:
            raise Failed(f"{best:,} of {plan.count:,} jobs were done, and no other in {STANDSTILL:g} s.")
