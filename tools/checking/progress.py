"""Pytest plugin: reports the progress of the tests to `tools/check`, and prints only failures.

Loaded with `-p tools.checking.progress`. The environment variable `HERONRY_PROGRESS` holds a descriptor.
"""

from __future__ import annotations

import contextlib
import os

import pytest

VARIABLE = "HERONRY_PROGRESS"
QUIET = ("passed", "skipped", "xfailed")


class Progress:
    """Counts the finished tests.

    Writes a line "DONE TOTAL" to the descriptor `to` after the collection and after about each hundredth of
    the tests.
    """

    def __init__(self, to: int) -> None:
        self._to, self._pid = to, os.getpid()
        self._done = self._total = self._told = 0

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._total = len(session.items)
        self._write()

    def pytest_runtest_logfinish(self) -> None:
        self._done += 1
        if os.getpid() == self._pid and (self._done - self._told) * 100 >= self._total:
            self._write()

    def _write(self) -> None:
        self._told = self._done
        if self._total:
            with contextlib.suppress(OSError):
                os.write(self._to, f"{self._done} {self._total}\n".encode())

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(self, report):  # type: ignore[no-untyped-def]
        status = yield
        return (status[0], "", status[2]) if status and status[0] in QUIET else status


def pytest_configure(config: pytest.Config) -> None:
    if to := os.environ.get(VARIABLE):
        config.pluginmanager.register(Progress(int(to)))
        os.set_inheritable(int(to), False)
