"""The thread of a store: it groups commits, answers every job, and reports its errors."""

import logging
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path
from queue import Queue

import pytest

from mesh.errors import Closed, MeshTimeout, StoreError, StoreFull
from mesh.operations import Append, Drop, Image, Op, Put, Stored
from mesh.store.base import Store
from mesh.store.memory import MemoryStore
from mesh.store.sqlite import SQLiteStore
from mesh.store.worker import StoreWorker
from mesh.streams.origin import OriginStream
from tests.mesh.store.images import loaded
from tests.waiting import LIMIT


class GateStore(MemoryStore):
    """A store that holds each commit until its gate opens. It refuses large appends, and fails on demand."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.entered = threading.Event()
        self.commits: list[list[Op]] = []
        self.room = 10**9
        self.failure: Exception | None = None
        self.closes = 0

    def commit(self, ops: Sequence[Op]) -> None:
        self.entered.set()
        assert self.gate.wait(LIMIT)
        self.commits.append(list(ops))
        if self.failure is not None:
            raise self.failure
        if sum(len(op.body) for op in ops if isinstance(op, Append)) > self.room:
            raise StoreFull("no room")
        super().commit(ops)

    def close(self) -> None:
        self.closes += 1
        if isinstance(self.failure, OSError):
            raise self.failure


class Answers:
    """The reports of the worker, in order."""

    def __init__(self) -> None:
        self.calls: Queue[tuple[list[Hashable], StoreError | None]] = Queue()
        self.threads: set[str] = set()

    def __call__(self, tokens: list[Hashable], error: StoreError | None) -> None:
        self.threads.add(threading.current_thread().name)
        self.calls.put((tokens, error))

    def next(self) -> tuple[list[Hashable], StoreError | None]:
        return self.calls.get(timeout=LIMIT)


Start = Callable[[Store], tuple[StoreWorker, Answers]]


@pytest.fixture
def start() -> Iterator[Start]:
    workers: list[StoreWorker] = []

    def started(store: Store) -> tuple[StoreWorker, Answers]:
        answers = Answers()
        workers.append(StoreWorker(store, answers))
        return workers[-1], answers

    yield started
    for worker in workers:
        worker.close(LIMIT)


def append(position: int, size: int = 1) -> Append:
    return Append(position, b"", bytes(size))


def positions(image: Image) -> list[int]:
    return [position for position, _, _ in image.envelopes]


def test_a_lone_job_is_committed_at_once_and_answered_from_the_thread(start: Start) -> None:
    store = GateStore()
    store.gate.set()
    worker, answers = start(store)
    worker.submit("one", [append(1)])
    assert answers.next() == (["one"], None)
    assert answers.threads == {"mesh-store"}
    assert positions(loaded(store)) == [1]


def test_what_gathers_during_a_commit_becomes_one_commit(start: Start) -> None:
    store = GateStore()
    worker, answers = start(store)
    worker.submit(0, [append(1)])
    assert store.entered.wait(LIMIT)
    for token in range(1, 100):
        worker.submit(token, [append(token + 1), Put("position", b"joe", b"%d" % token)])
    store.gate.set()
    assert answers.next() == ([0], None)
    assert answers.next() == (list(range(1, 100)), None)
    assert len(store.commits) == 2
    assert store.load().tables["position"] == {b"joe": b"99"}


def test_a_job_that_is_too_large_does_not_take_the_others_with_it(start: Start) -> None:
    store = GateStore()
    store.room = 100
    worker, answers = start(store)
    worker.submit("first", [append(1)])
    assert store.entered.wait(LIMIT)
    worker.submit("small", [append(2)])
    worker.submit("large", [append(3, 1000)])
    worker.submit("after", [append(4), Put("feed", b"joe", b"1")])
    store.gate.set()
    assert answers.next() == (["first"], None)
    assert answers.next() == (["small"], None)
    tokens, error = answers.next()
    assert tokens == ["large"]
    assert isinstance(error, StoreFull)
    assert answers.next() == (["after"], None)
    assert positions(loaded(store)) == [1, 2, 4]


def test_what_was_refused_is_not_called_known_by_what_was_put_together_before(start: Start) -> None:
    store, streams = GateStore(), (OriginStream(), OriginStream())
    store.room = 100
    worker, answers = start(store)
    worker.submit("first", [append(1)])
    assert store.entered.wait(LIMIT)

    def taken(of: int, number: int, low: int) -> Put:
        streams[of].accept_numbers(number, number, low)
        return Put("stream", b"%d" % of, streams[of].pack(), (number, number))

    worker.submit("large", [append(2, 1000), taken(0, 1, 1)])
    worker.submit("counts it in", [taken(0, 2, 1)])
    worker.submit("another's", [taken(1, 1, 1)])
    store.gate.set()
    assert answers.next() == (["first"], None)
    tokens, error = answers.next()
    assert (tokens, type(error)) == (["large"], StoreFull)
    assert [answers.next() for _ in range(2)] == [(["counts it in"], None), (["another's"], None)]
    rows = {key: OriginStream.unpack(row) for key, row in store.load().tables["stream"].items()}
    assert [(list(row.above), list(row.refused)) for row in rows.values()] == [
        ([(2, 2)], [(1, 1)]),
        ([(1, 1)], []),
    ]
    worker.submit("the publisher knows", [taken(0, 3, 2)])
    assert answers.next() == (["the publisher knows"], None)
    row = OriginStream.unpack(store.load().tables["stream"][b"0"])
    assert (list(row.above), list(row.refused)) == ([(2, 3)], [])


def test_a_refused_append_may_be_dropped_afterwards(start: Start) -> None:
    store = GateStore()
    store.room = 100
    store.gate.set()
    worker, answers = start(store)
    ops: list[Op] = [append(1, 1000), append(2, 1000), Drop((1,)), append(3)]
    for token, op in enumerate(ops):
        worker.submit(token, [op])
        assert answers.next()[0] == [token]
    assert positions(loaded(store)) == [3]


def test_a_refused_job_alone_is_committed_once_and_not_again(start: Start) -> None:
    store = GateStore()
    store.room = 100
    store.gate.set()
    worker, answers = start(store)
    worker.submit("large", [append(1, 1000)])
    assert isinstance(answers.next()[1], StoreFull)
    assert len(store.commits) == 1


def test_a_broken_store_refuses_every_job_and_the_thread_lives(start: Start) -> None:
    store = GateStore()
    store.failure = StoreError("the disk failed")
    store.gate.set()
    worker, answers = start(store)
    for token in "ab":
        worker.submit(token, [append(1)])
        assert answers.next() == ([token], store.failure)


def test_an_unexpected_error_is_reported_with_its_cause(start: Start) -> None:
    store = GateStore()
    store.failure = RuntimeError("a mistake of ours")
    store.gate.set()
    worker, answers = start(store)
    worker.submit("a", [append(1)])
    _, error = answers.next()
    assert isinstance(error, StoreError)
    assert "RuntimeError: a mistake of ours" in str(error)
    assert error.__cause__ is store.failure
    store.failure = None
    worker.submit("b", [append(1)])
    assert answers.next() == (["b"], None)


def test_an_answer_that_is_not_taken_is_logged_and_the_work_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    answers = Answers()

    def done(tokens: list[Hashable], error: StoreError | None) -> None:
        answers(tokens, error)
        raise RuntimeError("the loop is closed")

    worker = StoreWorker(MemoryStore(), done)
    with caplog.at_level(logging.ERROR, logger="mesh.store.worker"):
        for token in "ab":
            worker.submit(token, [append(1 if token == "a" else 2)])
            assert answers.next() == ([token], None)
        worker.close(LIMIT)
    assert caplog.text.count("RuntimeError: the loop is closed") == 2


def test_closing_finishes_what_was_submitted_and_closes_the_store(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    answers = Answers()
    worker = StoreWorker(SQLiteStore(path), answers)
    for token in range(50):
        worker.submit(token, [append(token + 1)])
    worker.close(LIMIT)
    worker.close(LIMIT)
    told = [token for _ in range(answers.calls.qsize()) for token in answers.next()[0]]
    assert told == list(range(50))
    reopened = SQLiteStore(path)
    assert positions(loaded(reopened)) == list(range(1, 51))
    reopened.close()


def test_a_closed_worker_takes_no_more(start: Start) -> None:
    worker, _ = start(MemoryStore())
    worker.close(LIMIT)
    with pytest.raises(Closed):
        worker.submit("late", [append(1)])


def test_closing_does_not_wait_for_ever(start: Start) -> None:
    store = GateStore()
    worker, answers = start(store)
    worker.submit("slow", [append(1)])
    with pytest.raises(MeshTimeout):
        worker.close(0.01)
    store.gate.set()
    worker.close(LIMIT)
    assert answers.next() == (["slow"], None)
    assert store.closes == 1


def test_a_store_that_cannot_be_closed_says_so() -> None:
    store = GateStore()
    store.failure = OSError("no such device")
    worker = StoreWorker(store, Answers())
    with pytest.raises(StoreError, match="no such device"):
        worker.close(LIMIT)


def test_the_operations_are_taken_as_they_were_when_submitted(start: Start) -> None:
    store = GateStore()
    worker, answers = start(store)
    ops: list[Op] = [append(1)]
    worker.submit("a", ops)
    ops.append(append(7))
    store.gate.set()
    assert answers.next() == (["a"], None)


# --- reads ----------------------------------------------------------------------------------------------


Found = list[Stored] | StoreError


Read = Callable[[GateStore], tuple[StoreWorker, Queue[tuple[Hashable, Found]]]]


@pytest.fixture
def reading() -> Iterator[Read]:
    """Yield a function that starts a worker and returns it with its reads. Its thread ends with the test."""
    made: list[tuple[StoreWorker, GateStore]] = []

    def begun(store: GateStore) -> tuple[StoreWorker, Queue[tuple[Hashable, Found]]]:
        read: Queue[tuple[Hashable, Found]] = Queue()
        made.append((StoreWorker(store, Answers(), fetched=lambda *told: read.put(told)), store))
        return made[-1][0], read

    yield begun
    for worker, store in made:
        store.gate.set()
        worker.close(LIMIT)


def test_what_is_read_is_read_behind_all_that_was_submitted_before(reading: Read) -> None:
    store = GateStore()
    worker, read = reading(store)
    worker.submit("a", [append(1)])
    assert store.entered.wait(LIMIT)
    worker.submit("b", [append(2)])
    worker.fetch("first", (2, 1, 9))
    worker.submit("c", [Drop((1,)), append(3)])
    worker.fetch("second", [1, 3])
    assert read.empty()
    store.gate.set()
    answers = dict(read.get(timeout=LIMIT) for _ in "12")
    assert [p for p, _, _ in answers["first"] if p > 1] == [2]  # type: ignore[union-attr]
    assert [p for p, _, _ in answers["second"]] == [3]  # type: ignore[union-attr]
    assert len(store.commits) == 2, "what is read does not divide what is written together"
    worker.close(LIMIT)


def test_what_cannot_be_read_is_answered_as_well_and_the_thread_lives(reading: Read) -> None:
    store = GateStore()
    store.gate.set()
    worker, read = reading(store)
    failure: Exception = StoreError("the disk failed", code="DATA_LOSS")

    def fails(positions: object) -> list[Stored]:
        raise failure

    store.read = fails  # type: ignore[method-assign]
    worker.fetch(1, [1])
    assert read.get(timeout=LIMIT) == (1, failure)
    failure = OSError("no such device")
    worker.fetch(2, [1])
    token, error = read.get(timeout=LIMIT)
    assert token == 2 and isinstance(error, StoreError) and "no such device" in str(error)
    worker.close(LIMIT)


def test_what_is_read_and_not_taken_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def fetched(token: Hashable, found: Found) -> None:
        raise RuntimeError("the loop is closed")

    answers = Answers()
    worker = StoreWorker(MemoryStore(), answers, fetched=fetched)
    with caplog.at_level(logging.ERROR, logger="mesh.store.worker"):
        worker.fetch(1, [1])
        worker.submit("a", [append(1)])
        worker.submit("b", [append(2)])
        answers.next()
        worker.close(LIMIT)
    assert "RuntimeError: the loop is closed" in caplog.text


def test_at_the_end_nothing_is_read_any_more(reading: Read) -> None:
    store = GateStore()
    worker, read = reading(store)
    worker.submit("a", [append(1)])
    assert store.entered.wait(LIMIT)
    worker.fetch("late", [1])
    with pytest.raises(MeshTimeout):
        worker.close(0.01)
    store.gate.set()
    worker.close(LIMIT)
    assert (read.empty(), store.closes) == (True, 1)
    with pytest.raises(Closed):
        worker.fetch("later", [1])


def test_a_worker_that_was_never_asked_closes_the_store(reading: Read) -> None:
    store = GateStore()
    worker, _ = reading(store)
    worker.close(LIMIT)
    assert store.closes == 1
