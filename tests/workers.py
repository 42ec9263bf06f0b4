"""Workers that run the tests in parallel: `pytest --workers 3`.

They are forked after the collection, so its cost, a fifth of that of the quick set, is paid once. A worker
receives one group of tests at a time, all tests of a file, so their shared fixtures are set up once. Each
test's reports go to the first process, which alone prints and decides. If a worker dies, the test that it
ran fails, and another worker runs the rest of its group.
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

Group = list[int]  # indices of its tests in `session.items`


class Reports:
    """Plugin of a worker that keeps the reports of the current test for the first process."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.of_test: list[object] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # A passed report without sections can be pickled as it is, which takes a tenth of the time.
        is_plain = report.passed and not report.sections and not report.user_properties
        serializable = self._config.hook.pytest_report_to_serializable
        self.of_test.append(report if is_plain else serializable(config=self._config, report=report))


class Worker:
    """A forked worker process, as the first process sees it.

    `left` has the tests of its group that are not reported yet.
    """

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
        with contextlib.suppress(OSError):  # a dead worker; `_tell` notices that
            self.line.send(group)

    def end(self) -> int:
        """Close the pipe, wait for the process, and return its exit code; a signal is negative."""
        self.line.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def run(session: pytest.Session, number: int, scope: Callable[[str], str]) -> None:
    """Run all tests of a session in `number` workers.

    The tests of one `scope` form a group. Groups start in their order.
    """
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
    """Wait until workers have sent reports or died, and return them."""
    lines = {worker.line: worker for worker in workers}
    return [lines[cast(Connection, line)] for line in wait(list(lines))]


def _tell(session: pytest.Session, worker: Worker) -> None:
    """Pass the reports of a finished test to all plugins. Raises: EOFError if the worker has died."""
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
    """Report the test that the worker ran as failed, and return the rest of its group."""
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
    """Run a worker to its end, and exit: the stack below belongs to the first process."""
    code = 1
    try:
        reports = _become_a_worker(session.config, number)
        with contextlib.suppress(EOFError, OSError, KeyboardInterrupt):
            _work(session, line, reports)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not stop the cleanup
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
    config.workerinput = {"workerid": f"worker{number}"}  # type: ignore[attr-defined]  # many plugins read it
    plugins = config.pluginmanager
    plugins.unregister(name="terminalreporter")
    # Each worker captures output in its own file. Otherwise all would share the file of the first process.
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
    """Stand-in for the first test of the next group, which is not known yet.

    Only the ancestors that all tests share are known: the folders above them. Their fixtures are kept.
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
