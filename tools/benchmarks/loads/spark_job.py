"""Measures ingest and all views on one history in a warm session, and checks their results.

python -m tools.benchmarks.loads.spark_job PLACE MEMORY

PLACE holds `warm` and `segments`, and `truth.json`, the output of tools/generate_snapshots for the latter.
MEMORY is that of the JVM, such as 2g. Prints as JSON: seconds by step (views run two at a time: each until
the next one begins), CPU seconds, and errors.
"""

import json
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil

from mesh.history.ingest import ingest
from mesh.history.intake import Ingested
from mesh.history.reading import history
from mesh.history.report.collecting import collect
from mesh.history.report.facts import Facts
from mesh.history.session import session

FINE = 0.001  # s of difference between sums in another order
COUNTS = ("chosen", "sent", "asked", "answered")


def main(place: str, memory: str) -> dict[str, Any]:
    conf = {"spark.driver.memory": memory, "spark.local.dir": place}
    spark = session("bench", "local[2]", conf)
    begin = time.monotonic()
    if Path(place, "warm").exists():
        ingest(spark, [f"{place}/warm"], f"{place}/warm-history")
        collect(history(spark, f"{place}/warm-history"), datetime.now(UTC), lambda words, done, total: None)
    warm = time.monotonic() - begin

    before, begin = cpu(), time.monotonic()
    ingested = ingest(spark, [f"{place}/segments"], f"{place}/history")
    taken = {"ingest": time.monotonic() - begin}
    steps: list[tuple[str, float]] = []
    facts = collect(
        history(spark, f"{place}/history"),
        datetime.now(UTC),
        lambda words, done, total: steps.append((words, time.monotonic())),
    )
    taken["views"] = time.monotonic() - begin - taken["ingest"]
    taken["cpu"] = cpu() - before
    by_view = {words: end - start for (words, start), (_, end) in pairwise(steps)}
    truth = json.loads((Path(place) / "truth.json").read_text())
    wrong = [*wrong_counts(ingested, truth), *wrong_facts(facts, truth)]
    return {"warm": warm, **taken, "by view": by_view, "wrong": wrong}


def cpu() -> float:
    """Return the seconds of CPU time of this process and its child processes, among them the JVM."""
    this = psutil.Process()
    times = [process.cpu_times() for process in (this, *this.children())]
    return float(sum(each.user + each.system for each in times))


def wrong_counts(ingested: Ingested, truth: Mapping[str, Any]) -> list[str]:
    """Return the differences in the numbers of lines and segments."""
    expected = {name: truth[name] for name in ("repeated", "quarantined", "segments")}
    expected["rows"] = truth["all_rows"]
    found = {name: getattr(ingested, name) for name in expected}
    return [
        f"{name}: {found[name]:,}, not {expected[name]:,}"
        for name in expected
        if found[name] != expected[name]
    ]


def wrong_facts(facts: Facts, truth: Mapping[str, Any]) -> list[str]:
    """Return the differences in the rows of each kind except quarantine, and in the counters of the nodes."""
    kinds = {kind: count for kind, count in facts.kinds.items() if kind != "quarantine"}
    wrong = [] if kinds == truth["rows"] else [f"rows {kinds}, not {truth['rows']}"]
    found = {(c.observer_uuid, c.observer_boot, c.node): c for c in facts.counters}
    expected = {
        (boot["observer_uuid"], boot["observer_boot"], node): counts
        for boot in truth["boots"]
        for node, counts in boot["balance"].items()
    }
    if found.keys() != expected.keys():
        wrong.append(
            f"{len(found.keys() ^ expected.keys())} of {len(expected)} counters are missing or too many"
        )
    for key in found.keys() & expected.keys():
        one, other = found[key], expected[key]
        if [getattr(one, name) for name in COUNTS] != [other[name] for name in COUNTS]:
            wrong.append(f"{key}: {one}, not {other}")
        elif abs(one.seconds - other["seconds"]) > FINE:
            wrong.append(f"{key}: {one.seconds} s, not {other['seconds']}")
    return wrong


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2])))
