"""The benchmark of discovery: the times that it takes, and the nodes that they belong to."""

import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh import sync
from tools.benchmarks.measures.finding import FEW, MANY, WAYS, Ends, Found, by_a_seed, find, go, steps
from tools.benchmarks.pages.goals import GOALS
from tools.running.watch import CAME, Said, Watch, falsely, seconds


def dead(by: str, node: str, at: float) -> Said:
    return Said(by, "dead", node, at)


def test_a_death_is_seen_when_the_last_of_the_others_says_so() -> None:
    said = [dead("heron", "egret", 11.0)]
    assert seconds(said, ["dead"], ["heron", "stork"], ["egret"], 10.0) is None
    said.append(dead("stork", "egret", 12.5))
    assert seconds(said, ["dead"], ["heron", "stork"], ["egret"], 10.0) == 2.5


def test_the_first_word_counts_and_nothing_from_before_nor_of_another_kind_or_node() -> None:
    said = [
        dead("heron", "egret", 9.0),
        Said("heron", "suspect", "egret", 10.5),
        dead("heron", "stork", 10.6),
        dead("heron", "egret", 11.0),
        dead("heron", "egret", 14.0),
    ]
    assert seconds(said, ["dead"], ["heron"], ["egret"], 10.0) == 1.0
    assert seconds(said, ["left"], ["heron"], ["egret"], 10.0) is None


def test_all_have_met_when_each_has_seen_each_other_by_whichever_word() -> None:
    names = ["heron", "stork"]
    said = [Said("heron", "joined", "stork", 11.0)]
    assert seconds(said, CAME, names, names, 10.0) is None
    said.append(Said("stork", "restarted", "heron", 10.25))
    assert seconds(said, CAME, names, names, 10.0) == 1.0


def test_a_death_or_conflict_of_anybody_but_the_victim_is_false() -> None:
    false = [dead("heron", "stork", 1.0), Said("stork", "conflict", "heron", 2.0)]
    fine = [
        dead("stork", "egret", 1.0),
        Said("heron", "suspect", "stork", 1.0),
        Said("heron", "left", "x", 1),
    ]
    assert falsely([*fine, *false], "egret") == false


def test_fewer_end_among_many_but_never_none() -> None:
    times = {way.name: way.times(50) for way in WAYS}
    assert times == {
        "killed of 3": 50,
        "silent of 3": 50,
        "stopped of 3": 50,
        "killed of 10": 10,
        "silent of 10": 10,
    }
    assert {way.times(1) for way in WAYS} == {1}
    assert (len(set(FEW)), len(set(MANY))) == (3, 10)
    assert steps(1, 2) == 4 + len(WAYS)


def test_every_way_has_its_goals() -> None:
    for way in WAYS:
        assert GOALS[f"{way.name}, p50"].limit == GOALS[f"{way.name}, p99"].limit is not None


class FakeClient:
    """A client of a node that remembers some deaths, and returns two events a call."""

    def __init__(self, *seconds: int) -> None:
        self.events = [
            {"number": n, "kind": "dead", "node": f"n{n}", "wall": second * 10**9}
            for n, second in enumerate(seconds, 1)
        ]

    def __enter__(self) -> "FakeClient":
        return self

    def __exit__(self, *_: object) -> None: ...

    def call(self, verb: str, after: int) -> dict[str, object]:
        assert verb == "events"
        return {"events": self.events[after : after + 2]}


def test_what_a_node_says_is_heard_once_and_from_its_start_on_when_it_is_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    node = FakeClient(5, 6, 7)
    monkeypatch.setattr(sync, "connect", lambda *_, **__: node)
    with Watch(tmp_path) as watch:
        watch.join("heron")
        watch.look()
        watch.look()
        assert watch.said == [dead("heron", f"n{n}", 4.0 + n) for n in (1, 2, 3)]
        watch.forget()
        watch.leave("heron")
        node.events = FakeClient(9).events
        watch.join("heron")
        watch.look()
        assert watch.said == [dead("heron", "n1", 9.0)]


@pytest.fixture
def signals() -> Iterator[None]:
    """Restore the signal handlers, which a benchmark that starts programs replaces."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.slow
def test_real_nodes_are_timed_while_they_meet_end_and_come_back(
    signals: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory(prefix="b-", dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        found, ends, steps_done = Found(), Ends(WAYS[0]), [0]
        find(by_a_seed, found)
        go(ends, 1, 7, lambda: steps_done.append(1))
        assert list(Path(folder).iterdir()) == []
    assert 0 < found.ready[0] <= found.seen[0]
    assert sorted({*found.via} - {"hello"}) == ["gossip", "seed"]
    assert (len(ends.seen), len(ends.back), ends.falsely, sum(steps_done)) == (1, 1, 0, 1)
    assert ends.seen[0] > 0 < ends.back[0]
