"""What holds for all tests? In CI none skips but those of `allowed_skips.txt`; quick ones are quick."""

import gc
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import settings

from tests import workers

ALLOWED_SKIPS = Path(__file__).with_name("allowed_skips.txt")
SPARK = "tests/spark/"
FIRST = (
    SPARK, "tests/tools/test_simulate.py", "tests/test_demo.py", "tests/tools/test_spark_bench.py",
    "tests/tools/test_services_bench.py", "tests/tools/test_peers_bench.py", "tests/tools/test_queue_lab.py",
    "tests/test_first_minutes.py",
)  # what takes the longest  # fmt: skip

# Of what a JVM does in its first minute half is to compile: so those that tests start do that plainly.
# Its room for that is a fifth of the usual then, and not enough for all jobs of one worker.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m")

# Started in the background, as under nohup, these are ignored; and so they would be in all that tests start.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, handler)

# A busy machine is slow, not wrong: no deadline for single examples.
settings.register_profile("house", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=20)  # tools/check --quick
settings.load_profile("house")


SLOW = ("whole", "spark", "browser")  # what the quick part leaves out
ALL_SLOW = re.compile(rf"^pytestmark = .*\bpytest\.mark\.({'|'.join(SLOW)})\b", re.MULTILINE)  # a file
AIM = 0.5  # s of CPU that a quick test may take ...
MOST = 5 * AIM  # ... and what is too much
ALL = 225.0  # s of CPU that all of the quick part may take, also beside others on two threads of one core
LAST_WORDS = 4000  # characters of the log of a node, in the report of a test that failed
PACE = 0.0095  # s of CPU for a little piece of work, where these figures hold; a busy machine takes longer


def cpu() -> float:
    """Seconds of work of this process and of its children that are over: waiting does not count."""
    return sum(os.times()[:4])


def pace() -> float:
    """How much slower is this machine just now?"""

    def piece_of_work() -> float:
        start = time.process_time()
        sum(n * n % 7 for n in range(200_000))
        return time.process_time() - start

    return max(1.0, min(piece_of_work() for _ in range(5)) / PACE)


def is_quick_part() -> bool:
    """As tools/check --quick says: of other tests in its profile nobody minds how long they take."""
    return os.environ.get("QUICK_PART") == "1"


def in_memory() -> str | None:
    """A place in memory that is as good as a disk for the directories of the quick part, where nobody pulls a
    plug: hundreds of stores wait longer for a true one than for all the rest."""
    place = "/dev/shm"
    if not os.access(place, os.W_OK):
        return None
    of = os.statvfs(place)
    is_good = of.f_bavail * of.f_frsize > 1 << 30 and not of.f_flag & os.ST_NOEXEC
    return place if is_good else None


if is_quick_part():
    if place := in_memory():
        os.environ["TMPDIR"] = tempfile.tempdir = place
    # Grammars of all kinds of addresses, which jsonschema does without: they take 2 s of CPU to put together.
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    # Of a file of which the quick part leaves out all need nothing be imported: Spark, say.
    is_test = is_quick_part() and collection_path.match("test_*.py")
    return True if is_test and ALL_SLOW.search(collection_path.read_text()) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # Begun among the last, the longest would be what the other workers wait for.
    def turn(item: pytest.Item) -> int:
        return next((turn for turn, of in enumerate(FIRST) if item.nodeid.startswith(of)), len(FIRST))

    items.sort(key=turn)


def scope(test: str) -> str:
    """A file is run by one worker, and so is all of Spark: each JVM takes 20 s of CPU before it is of use."""
    return SPARK if test.startswith(SPARK) else test.partition("::")[0]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, default=0, help="run the tests in so many processes")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    number = session.config.getoption("workers")
    if number < 1 or session.testsfailed or session.config.option.collectonly:
        return None
    workers.run(session, number, scope)
    return True


def pytest_collection_finish() -> None:
    # Thousands of tests and all modules stay to the end: no search for garbage need go through them again.
    gc.freeze()
    # A simulated mesh is garbage as a whole, and seldom before its test is over: so look for some less often.
    gc.set_threshold(50_000, 10, 10)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    # Nor through what the tests of a file have had imported, or will be reported of them.
    if nextitem is not None and nextitem.path != item.path:
        gc.collect()
        gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """A test of the quick part that is not quick fails."""
    start = cpu()
    yield
    taken = cpu() - start
    if not is_quick_part() or taken <= MOST or any(map(item.get_closest_marker, SLOW)):
        return
    if taken > MOST * pace():
        pytest.fail(f"{taken:.1f} s of CPU: prove it with {AIM} s at most, or mark it whole", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that failed shows what its nodes wrote: their directories are gone when somebody reads of it."""
    report = yield
    if report.failed and (running := sys.modules.get("tests.mesh.running")):
        nodes = sorted(running.KNOWN, key=lambda node: node.name)
        report.sections += [
            (f"last words of node {node.name}", node.log[-LAST_WORDS:]) for node in nodes if node.log
        ]
    return report


@pytest.hookimpl(trylast=True)  # behind the plug-in that loads the profile
def pytest_configure(config: pytest.Config) -> None:
    # This is the first process: its workers are forked later, and report to it.
    if os.environ.get("CI") == "true":
        config.pluginmanager.register(SkipGate(allowed_skips(ALLOWED_SKIPS)))
    if is_quick_part():
        config.pluginmanager.register(CpuGate())


def allowed_skips(path: Path) -> list[str]:
    """The node ids and globs of the list; each line must give a reason after " # "."""
    patterns = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            pattern, _, reason = line.partition(" # ")
            if not reason.strip():
                raise pytest.UsageError(f'{path}:{number}: give the reason after " # "')
            patterns.append(pattern.strip())
    return patterns


class SkipGate:
    """Collects the skips that nobody allowed, and fails the session for them."""

    def __init__(self, allowed: list[str]) -> None:
        self._allowed = allowed
        self._unlisted: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self._note(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self._note(report.nodeid)

    def _note(self, node: str) -> None:
        # Equal or matching: the brackets of a parametrised test would be a set of characters in a glob.
        if not any(node == pattern or fnmatchcase(node, pattern) for pattern in self._allowed):
            self._unlisted.append(node)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._unlisted and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._unlisted:
            terminalreporter.section(f"skipped, but not listed in {ALLOWED_SKIPS.name}", red=True, bold=True)
            for node in self._unlisted:
                terminalreporter.line(node)


class CpuGate:
    """Fails a session that took more of the processors than all of the quick part may take."""

    def __init__(self) -> None:
        self._start, self._pace = cpu(), pace()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._taken() > self._most() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        taken, most = self._taken(), self._most()
        of = f"{most:.0f} s are the most for all of the quick part"
        terminalreporter.line(f"{taken:.0f} s of CPU: {of}", red=taken > most)

    def _taken(self) -> float:
        # When the session finishes the workers are over, and count.
        return cpu() - self._start

    def _most(self) -> float:
        self._pace = max(self._pace, pace())
        return ALL * self._pace
