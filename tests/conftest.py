"""Rules for all tests: which ones run, in which order, and what a failure shows."""

import gc
import os
import signal
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

from mesh.client import browsing
from tests import selection, workers
from tests.leftovers import Leftovers
from tests.skips import ALLOWED, SkipGate, allowed_skips

SPARK = "tests/spark/"
FIRST = (
    SPARK, "tests/tools/simulator/test_scenario.py", "tests/test_demo.py",
    "tests/tools/benchmarks/measures/test_services.py", "tests/tools/benchmarks/measures/test_contest.py",
    "tests/tools/lab_parts/test_queue_ledger.py", "tests/tools/lab_parts/test_service_ledger.py",
    "tests/test_first_minutes.py",
)  # the longest ones  # fmt: skip
LOG_END = 4000  # characters of a node's log in the report of a failed test

# A JVM spends half of its first minute compiling. The simple compiler suffices for one worker's jobs.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m")

browsing.INTERFACES = ("127.0.0.1",)  # clients of tests search there only

# A background job under nohup ignores these signals, and so would everything that the tests start.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, handler)

# No deadline for single examples: a busy machine is slow, not wrong.
settings.register_profile("all", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=20)


@pytest.hookimpl(trylast=True)  # after the Hypothesis plugin, which loads the profile of the command line
def pytest_configure(config: pytest.Config) -> None:
    # This is the first process. Its workers are forked later, and report to it.
    selection.select(config)
    if os.environ.get("CI") == "true":
        config.pluginmanager.register(SkipGate(allowed_skips(ALLOWED)))
    if not config.getoption("hypothesis_profile", None):
        settings.load_profile("quick" if selection.is_quick(config) else "all")
    if not config.option.collectonly:
        config.pluginmanager.register(Leftovers(prefers_memory=selection.is_quick(config)))
    if selection.is_quick(config):
        # jsonschema works without these grammars of addresses, which take 2 s of CPU to build.
        sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if selection.is_quick(config) and selection.is_left_out(collection_path) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # A long test that begins among the last keeps all other workers waiting.
    def turn(item: pytest.Item) -> int:
        return next((turn for turn, of in enumerate(FIRST) if item.nodeid.startswith(of)), len(FIRST))

    items.sort(key=turn)


def scope(test: str) -> str:
    """Return the group of a test: its file, or one for all of Spark's tests.

    A JVM needs 20 s of CPU to start and warm up, so all of them share one.
    """
    return SPARK if test.startswith(SPARK) else test.partition("::")[0]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--workers", type=int, default=0, help="number of processes that run tests; default: this one"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    number = session.config.getoption("workers")
    if number < 1 or session.testsfailed or session.config.option.collectonly:
        return None
    workers.run(session, number, scope)
    return True


def pytest_collection_finish() -> None:
    # Thousands of tests and all modules stay to the end, so the garbage collector need not visit them again.
    gc.freeze()
    # A simulated mesh becomes garbage as a whole, and seldom before its test is over.
    gc.set_threshold(50_000, 10, 10)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    # Modules that the tests of a file imported stay as well, and so do their reports.
    if nextitem is not None and nextitem.path != item.path:
        gc.collect()
        gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the logs of a failed test's nodes, because their directories are gone after the test."""
    report = yield
    if report.failed and (running := sys.modules.get("tests.mesh.running")):
        nodes = sorted(running.KNOWN, key=lambda node: node.name)
        report.sections += [(f"log of node {node.name}", node.log[-LOG_END:]) for node in nodes if node.log]
    return report
