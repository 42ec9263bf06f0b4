"""The commands and programs of docs/spark.md run as written, with the results that the page names."""

import json
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest
from pyspark.sql import SparkSession

from mesh.cli.verbs import module_of
from mesh.history import cli
from mesh.history.reading import history
from mesh.history.views.capacity import idle
from mesh.snapshots.line import KINDS
from tests.pages import ROOT, SPARK, Block, blocks, commands, terminal
from tests.spark.page import VIEWS, View, run_job, table, unrun

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(600)]

WRITTEN = "/srv/mesh"  # stands for a directory of the test
SHORT = {"--hours 1 ": "--hours 0.1 "}  # enough to see that it works
JOB = re.compile(r"(?:mesh (?:ingest|report|weights learn)|python -m mesh.history)\b")
NODES = {"heron", "stork", "egret"}


class Typed:
    """The commands of the page, run one after the other: the output of jobs, and the files in `place`."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.printed: dict[str, str] = {}
        generator = f"PYTHONPATH={ROOT} {sys.executable} -m tools.generate_snapshots"
        read_as = {WRITTEN: str(place), "tools/generate_snapshots": generator, **SHORT}
        with terminal(place, folder=place, read_as=read_as) as shell:
            for command in commands(SPARK):
                if JOB.match(command):
                    self.printed[command] = run_job(shell, command, place)
                else:
                    shell.type(command)


@pytest.fixture(scope="module")
def typed(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Typed:
    return Typed(tmp_path_factory.mktemp("page"))


def test_the_commands_run_one_after_the_other(typed: Typed) -> None:
    assert len(typed.printed) >= 3 and all(typed.printed.values())
    assert all(node in (typed.place / "report.html").read_text() for node in ("heron", "stork"))
    assert json.loads((typed.place / "weights.json").read_text())["weights"].keys() == NODES


@pytest.mark.parametrize("block", blocks("python", [SPARK]), ids=str)
def test_a_program_runs(typed: Typed, block: Block, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block.text.replace(WRITTEN, str(typed.place)), str(block), "exec"), {})
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_a_view_has_the_columns_of_its_table(typed: Typed, session: SparkSession, view: View) -> None:
    function = getattr(import_module(f"mesh.history.views.{view.room}"), view.name)
    rows = history(session, str(typed.place / "history"))
    more = [idle(rows)] if "known" in view.arguments else []
    assert function(rows, *more).columns == view.columns


def test_lines_are_as_long_as_the_page_says(typed: Typed) -> None:
    sizes: dict[str, list[int]] = {kind: [] for kind in KINDS}
    for path in (typed.place / "snapshots").rglob("[!_]*.jsonl"):
        for line in path.read_bytes().splitlines(keepends=True):
            kind = re.match(rb'\{"kind":"(\w+)"', line)
            sizes.get(kind[1].decode() if kind else "", []).append(len(line))
    for name, _, _, size, _ in table("kind"):
        found = sizes[name.strip("`")]
        assert sum(found) / len(found) == pytest.approx(int(size), rel=0.1)


def test_options_of_commands_that_are_not_run_are_known() -> None:
    of_spark: set[str] = set()
    for program, *words in unrun():
        if program == "mesh":
            assert options(words) <= known(import_module(module_of(words[0])).command)
        elif program == "spark-submit":
            of_spark |= options(words[: words.index("$JOB")])
            of_a_job(words[words.index("$JOB") + 1 :])
        else:
            assert (program, *words[:2]) == ("python", "-m", "mesh.history")
            of_a_job(words[2:])
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    told = subprocess.run(
        ["spark-submit", "--help"], env=environ, capture_output=True, text=True, timeout=120
    )
    assert of_spark and of_spark <= set(re.findall(r"--[\w-]+", told.stdout + told.stderr))


def options(words: list[str]) -> set[str]:
    return {word for word in words if word.startswith("--")}


def known(command: click.Command) -> set[str]:
    return {name for parameter in command.params for name in parameter.opts}


def of_a_job(words: list[str]) -> None:
    module, _ = cli.JOBS[words[0]]
    assert options(words) <= known(import_module(module).command)
