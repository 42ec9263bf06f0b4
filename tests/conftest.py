"""What holds for all tests? In CI a skipped test is a failure, unless `allowed_skips.txt` names it."""

import os
import signal
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import settings

ALLOWED_SKIPS = Path(__file__).with_name("allowed_skips.txt")

# Started in the background, as under nohup, these are ignored; and so they would be in all that tests start.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, handler)

# A busy machine is slow, not wrong: no deadline for single examples.
settings.register_profile("house", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=20)  # tools/check --quick
settings.load_profile("house")


def pytest_configure(config: pytest.Config) -> None:
    # With xdist the workers report to the controller, which alone decides.
    if os.environ.get("CI") == "true" and not hasattr(config, "workerinput"):
        config.pluginmanager.register(SkipGate(allowed_skips(ALLOWED_SKIPS)))


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
