"""The report of Spark on the history of the nodes, compared with the nodes' own counters."""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tools.demo_parts.nodes import Node
from tools.demo_parts.screen import Screen
from tools.running.processes import ROOT, Failed, Processes, Program

LONGEST_FETCH = 1800.0  # s for PySpark over a slow connection
LONGEST = 300.0  # s for Spark, whose start is slow
# A node's counter -> the column in the report, summed over all candidates.
COUNTED = {
    "forwarded": "sent",
    "balance_chosen": "chosen",
    "balance_asked": "asked",
    "balance_answered": "answered",
}


@dataclass(frozen=True, slots=True)
class Stopped:
    """The figures that a node printed at its clean end."""

    node: str
    boot: int
    metrics: dict[str, int]


class History:
    """The history of a demo, of which a report is written to the page `report`."""

    def __init__(self, processes: Processes, screen: Screen, nodes: dict[str, Node], report: Path) -> None:
        self._processes, self._screen, self._nodes, self._report = processes, screen, nodes, report

    def tell(self) -> None:
        """Stop all nodes, and show the report; PySpark is installed first if it is missing.

        Raises Failed if the report differs from the nodes' counters.
        """
        stopped = [Stopped(node.name, node.boot, node.stop()) for node in self._nodes.values() if node.is_up]
        if find_spec("pyspark") is None:
            self._fetch()
        self._screen.heading(f"$ mesh report --html {self._report}")
        self._screen.say("Spark starts, and reads what the nodes wrote down; that takes up to a minute")
        told = self._processes.place / "report.json"
        shown = self._spark("report", "mesh", "report", "--html", str(self._report), "--json-to", str(told))
        self._screen.say(shown.out.read_text())
        facts = json.loads(told.read_text())
        wrong = [*unseen(facts, self._nodes), *differences(facts, stopped)]
        if wrong:
            raise Failed("the report does not say what the nodes counted:\n" + "\n".join(wrong))
        self._screen.say(
            f"The report has rows of all {len(self._nodes)} nodes, and of each boot that stopped cleanly the "
            "same counts as the node itself:\n" + "\n".join(map(_in_words, stopped)),
            style="green",
        )

    def _fetch(self) -> None:
        self._screen.heading("$ tools/venv")
        self._screen.say(
            "For the report Spark is fetched into .venv, once; that takes a minute or two. Ctrl-C ends it"
        )
        # The user's settings of pip and temporary folder apply, not those of the demo.
        outer = ["TMPDIR", "XDG_CONFIG_HOME"]
        said = [f"{name}={os.environ[name]}" for name in outer if name in os.environ]
        unsaid = [word for name in outer if name not in os.environ for word in ("-u", name)]
        program = self._processes.launch("venv", "env", *unsaid, *said, str(ROOT / "tools" / "venv"))
        self._processes.until(program.ended, LONGEST_FETCH, "tools/venv did not end")
        if program.code:
            raise Failed(f"Spark cannot be fetched: {program.words()} Without it: tools/demo --no-report")

    def _spark(self, name: str, *arguments: str) -> Program:
        program = self._processes.run(name, *arguments, limit=LONGEST)
        if program.code:
            raise Failed(f"{' '.join(arguments)} failed: {program.words()}")
        return program


def unseen(facts: dict[str, Any], nodes: Iterable[str]) -> list[str]:
    """Return the nodes without a row of their own, as text."""
    seen = {row["name"] for row in facts["nodes"] if row["states"]}
    return [f"no state of {name}" for name in nodes if name not in seen]


def differences(facts: dict[str, Any], stopped: list[Stopped]) -> list[str]:
    """Return the differences between the report and nodes that stopped cleanly, as text."""
    found = []
    for it in stopped:
        rows = [r for r in facts["counters"] if (r["observer"], r["observer_boot"]) == (it.node, it.boot)]
        if not all(row["clean"] for row in rows):
            found.append(f"{it.node}, boot {it.boot}: it stopped cleanly, and the report does not know it")
        for counter, column in COUNTED.items():
            said = sum(row[column] for row in rows)
            if said != it.metrics[counter]:
                found.append(
                    f"{it.node}, boot {it.boot}: {counter} {it.metrics[counter]}, in the report {said}"
                )
    return found


def _in_words(it: Stopped) -> str:
    return f"{it.node:8}boot {it.boot}: {it.metrics['forwarded']:,} messages forwarded"
