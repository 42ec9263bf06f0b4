"""In CI a skipped test is a failure, unless `allowed_skips.txt` lists it with a reason."""

from fnmatch import fnmatchcase
from pathlib import Path

import pytest

ALLOWED = Path(__file__).with_name("allowed_skips.txt")


def allowed_skips(path: Path) -> list[str]:
    """Return the node ids and globs of the list. Each line must give a reason after " # "."""
    patterns = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            pattern, _, reason = line.partition(" # ")
            if not reason.strip():
                raise pytest.UsageError(f'{path}:{number}: give the reason after " # "')
            patterns.append(pattern.strip())
    return patterns


class SkipGate:
    """Plugin that collects skips without permission, and fails the session for them."""

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
        # Node ids are also compared literally: brackets of a parametrized test are a character set in a glob.
        if not any(node == pattern or fnmatchcase(node, pattern) for pattern in self._allowed):
            self._unlisted.append(node)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._unlisted and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._unlisted:
            terminalreporter.section(f"skipped, but not listed in {ALLOWED.name}", red=True, bold=True)
            for node in self._unlisted:
                terminalreporter.line(node)
