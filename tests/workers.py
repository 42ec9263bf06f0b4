"""Workers that run the tests, `pytest --workers 3`: forked when all tests are collected, so that this,
a fifth of the price of the quick part, is paid once.

A worker is given a group of tests at a time, all of a file, and so what they share is made once. It sends
the reports of each test to the first process, which alone tells of them and decides. One that dies fails
the test it ran, and another goes on behind that.
"""

import contextlib
import itertools
import os
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection, Pipe, wait
from typing import cast

import pytest

Group = list[int]  # places of its tests among those of the session


class Reports:
    """What a worker tells of its test: plug-ins of its own are silent."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.of_test: list[object] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # What went well has nothing in it that could not be pickled, and takes a tenth of the time so.
        is_plain = report.passed and not report.sections and not report.user_properties
        serializable = self._config.hook.pytest_report_to_serializable
        self.of_test.append(report if is_plain else serializable(config=self._config, report=report))


class Worker:
    """A forked process, seen by the first; `left` of its group has not been reported of yet."""

    def __init__(self, session: pytest.Session, number: int, others: Iterable["Worker"]) -> None:
        self.left: deque[int] = deque()
        self.line, theirs = Pipe()
        assert threading.active_count() == 1, "what a thread holds would be held for ever in a worker"
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            for line in (self.line, *(other.line for other in others)):
                line.close()
            _live(session, theirs, number)
        theirs.close()

    def give(self, group: Group) -> None:
        self.left.extend(group)
        with contextlib.suppress(OSError):  # it has just died, as will be read from the line
            self.line.send(group)

    def end(self) -> int:
        """No more work; returns its exit code when it is over, a negative one for a signal."""
        self.line.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def run(session: pytest.Session, number: int, scope: Callable[[str], str]) -> None:
    """All tests of a session: those of one `scope` are a group, and the groups are begun in their order."""
    groups = deque(_groups(session, scope))
    workers: list[Worker] = []
    names = itertools.count()
    try:
        while groups or workers:
            while groups and len(workers) < number:
                workers.append(Worker(session, next(names), workers))
                workers[-1].give(groups.popleft())
            for worker in _heard(workers):
                try:
                    _tell(session, worker)
                except EOFError:
                    workers.remove(worker)
                    groups.extendleft(_died(session, worker))
                    continue
                if worker.left:
                    continue
                if groups:
                    worker.give(groups.popleft())
                else:
                    workers.remove(worker)
                    _end_well(worker)
    finally:
        _interrupt(workers)


def _groups(session: pytest.Session, scope: Callable[[str], str]) -> list[Group]:
    groups: dict[str, Group] = {}
    for place, item in enumerate(session.items):
        groups.setdefault(scope(item.nodeid), []).append(place)
    return list(groups.values())


def _heard(workers: list[Worker]) -> list[Worker]:
    """Those with reports, or that have died: waits for one."""
    lines = {worker.line: worker for worker in workers}
    return [lines[cast(Connection, line)] for line in wait(list(lines))]


def _tell(session: pytest.Session, worker: Worker) -> None:
    """What all plug-ins are told of a test that is over; raises EOFError when its worker has died."""
    hook, item = session.config.hook, session.items[worker.left[0]]
    try:
        reports = worker.line.recv()
    except OSError:
        raise EOFError from None
    if session.config.get_verbosity() > 0:
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in reports:
        if isinstance(report, dict):
            report = hook.pytest_report_from_serializable(config=session.config, data=report)
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    worker.left.popleft()
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)


def _died(session: pytest.Session, worker: Worker) -> list[Group]:
    """The test that it ran has failed; returns what was behind it."""
    code = worker.end()
    item = session.items[worker.left.popleft()]
    words = f"its worker ended with {code} while it ran"
    report = pytest.TestReport(item.nodeid, item.location, {}, "failed", words, "call")
    session.config.hook.pytest_runtest_logreport(report=report)
    return [list(worker.left)] if worker.left else []


def _end_well(worker: Worker) -> None:
    if code := worker.end():
        raise RuntimeError(f"a worker ended with {code} behind its last test: what it wrote says why")


def _interrupt(workers: list[Worker]) -> None:
    for worker in workers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker.pid, signal.SIGINT)
    for worker in workers:
        worker.end()


def _live(session: pytest.Session, line: Connection, number: int) -> None:
    """All of a worker's life: it never returns into what the first process has on its stack."""
    code = 1
    try:
        reports = _become_a_worker(session.config, number)
        with contextlib.suppress(EOFError, OSError, KeyboardInterrupt):
            _work(session, line, reports)
        signal.signal(
            signal.SIGINT, signal.SIG_IGN
        )  # one Ctrl-C is enough: it ends what its tests have started
        session.config.hook.pytest_sessionfinish(session=session, exitstatus=pytest.ExitCode.OK)
        session.config._ensure_unconfigure()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _become_a_worker(config: pytest.Config, number: int) -> Reports:
    config.workerinput = {"workerid": f"worker{number}"}  # type: ignore[attr-defined]  # many plug-ins look for it
    plugins = config.pluginmanager
    plugins.unregister(name="terminalreporter")
    # A file of its own for what tests write: that of the first process would be one for all.
    capture = plugins.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    capture.suspend_global_capture()
    reports = Reports(config)
    plugins.register(reports)
    return reports


def _work(session: pytest.Session, line: Connection, reports: Reports) -> None:
    beyond = cast(pytest.Item, Beyond(session))
    while True:
        group = [session.items[place] for place in line.recv()]
        for item, following in zip(group, [*group[1:], beyond], strict=True):
            reports.of_test.clear()
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            line.send(reports.of_test)


class Beyond:
    """Stands for the first test of the next group, of which is known only what it shares with all tests: the
    folders above all of them. What was set up for these is kept.
    """

    path = None

    def __init__(self, session: pytest.Session) -> None:
        files = {item.path: item for item in session.items}.values()
        levels = zip(*(item.listchain() for item in files), strict=False)
        shared = itertools.takewhile(lambda nodes: all(node is nodes[0] for node in nodes), levels)
        folders = (pytest.Session, pytest.Directory)
        self._chain = [nodes[0] for nodes in shared if isinstance(nodes[0], folders)]

    def listchain(self) -> list[pytest.Session | pytest.Directory]:
        return self._chain
