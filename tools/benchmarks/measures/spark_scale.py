"""The time and the memory that Spark needs, by the number of lines."""

import json
import math
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from statistics import linear_regression

import psutil

from tools.benchmarks.loads.runs import said
from tools.benchmarks.loads.spark_measured import Measured
from tools.benchmarks.pages.goals import GOALS
from tools.benchmarks.pages.report import Report, Row
from tools.running.processes import Failed, Processes, Program

MILLION = 1_000_000
SIZES = tuple(n * MILLION for n in (1, 2, 5, 10, 20))  # lines
STEPS = 2  # of one size
NODES, SEED, WARM = 100, 7, 300_000  # generated mesh; lines for warming up Java
MEMORY = "2g"  # of the JVM
TIDYING = 30.0  # s until the JVM ends after a job
LEAST, MOST = 900.0, 300.0  # s per job, and per million lines


def sizes(most: int) -> list[int]:
    """Return the sizes up to `most` lines, or `most` alone if it is below all of them."""
    return [size for size in SIZES if size <= most] or [most]


def measured(most: int, plot: Path | None, advance: Callable[[], None]) -> Report:
    """Measure all sizes up to `most` lines.

    A size that fails is the last one, and leaves the results of smaller ones valid. `plot` is the file for a
    plot; None means no plot.
    """
    runs: list[Measured] = []
    failed = []
    with Processes() as processes:
        for size in sizes(most):
            try:
                runs.append(measure(processes, size, advance))
            except Failed as why:
                failed.append(Row(name(size), 0.0, flaw=str(why)))
                break
    if plot is not None and runs:
        from tools.benchmarks.pages.spark_plot import draw

        draw(runs, plot)
    report = told(runs)
    return replace(report, rows=report.rows + failed)


def measure(processes: Processes, size: int, advance: Callable[[], None]) -> Measured:
    place = processes.place / str(size)
    place.mkdir()
    if WARM:
        generate(processes, WARM, place / "warm")
    truth = generate(processes, size, place / "segments")
    shutil.copy(truth, place / "truth.json")
    advance()
    job = processes.start("job", "tools.benchmarks.loads.spark_job", str(place), MEMORY)
    family, memory = {psutil.Process(job.pid)}, 0.0

    def look() -> None:
        nonlocal memory
        family.update(started_by(job))
        memory = max(memory, resident(family))

    processes.until(job.ended, LEAST + MOST * size / MILLION, f"{size:,} lines did not end", look)
    psutil.wait_procs(family, TIDYING)  # the JVM deletes its files
    found, true = said(job), json.loads(truth.read_text())
    shutil.rmtree(place)
    advance()
    return Measured(
        true["lines"],
        true["segments"],
        true["bytes"],
        found["ingest"],
        found["views"],
        found["cpu"],
        found["by view"],
        memory,
        found["wrong"],
    )


def generate(processes: Processes, lines: int, place: Path) -> Path:
    """Generate a history in `place`, and return the file with its true figures. Raises Failed if it fails."""
    options = ("--nodes", str(NODES), "--lines", str(lines), "--seed", str(SEED), "--to", str(place))
    program = processes.start("generate", "tools.generate_snapshots", *options)
    processes.until(program.ended, LEAST + MOST * lines / MILLION, "the lines were not written")
    if program.code:
        raise Failed(f"tools/generate_snapshots: {program.words()}")
    return program.out


def started_by(program: Program) -> list[psutil.Process]:
    """Return the direct children of the program, among them the JVM; nothing when the program has ended.

    Children of the JVM are left out, as each looks as large as the JVM for a moment.
    """
    try:
        return psutil.Process(program.pid).children()
    except psutil.NoSuchProcess:
        return []


def resident(family: Iterable[psutil.Process]) -> float:
    """Return the resident MB of all processes together; an ended process counts as 0."""
    sizes = []
    for process in family:
        with suppress(psutil.NoSuchProcess):
            sizes.append(process.memory_info().rss)
    return sum(sizes) / MILLION


def told(runs: Sequence[Measured]) -> Report:
    """Return the report on the runs, the fewest lines first."""
    rows = [Row(name(run.lines), run.seconds, _note(run), "; ".join(run.wrong[:3])) for run in runs]
    if len(runs) > 1:
        first, last = (1e6 * run.seconds / run.lines for run in (runs[0], runs[-1]))
        note = f"{first:.2f} s a million lines with {runs[0].lines:,}, {last:.2f} s with {runs[-1].lines:,}"
        rows.append(Row("spark, growth", exponent(runs), note))
    if runs:
        peak = max(run.memory for run in runs)
        rows.append(Row("spark, memory", peak, f"of which {MEMORY} are for the heap"))
    return Report("spark", rows, {"runs": [asdict(run) for run in runs]})


def name(lines: int) -> str:
    """Return the name of the row for a history of `lines` lines.

    A generated history has up to 10 % more lines than the size of its row. If no such row has a goal, the
    name is "spark, few".
    """
    return next(
        (row for size in SIZES if size <= lines < 1.1 * size and (row := _row(size)) in GOALS), "spark, few"
    )


def _row(size: int) -> str:
    return f"spark, {size // MILLION} M"


def _note(run: Measured) -> str:
    return (
        f"ingest {run.ingest:.1f} s, views {run.views:.1f} s, CPU {run.cpu:.0f} s; "
        f"{run.lines:,} lines in {run.segments:,} segments, {run.memory:,.0f} MB"
    )


def exponent(runs: Sequence[Measured]) -> float:
    """Return the power of the number of lines with which the time grows; 1 is proportional."""
    lines = [math.log(run.lines) for run in runs]
    return linear_regression(lines, [math.log(run.seconds) for run in runs]).slope
