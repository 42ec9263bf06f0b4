"""Some simulation runs use real files beside the simulated disk, and compare both at each start."""

from collections.abc import Sequence
from functools import partial

import pytest

from mesh.operations import Drop, Op, Put
from mesh.store.sqlite import SQLiteStore
from mesh.store.witness import Witness
from tools.simulator.history import History
from tools.simulator.profiles import SHORT
from tools.simulator.scenario import told
from tools.simulator.script import with_steps
from tools.simulator.stage.stage import Stage
from tools.simulator.steps import Step
from tools.simulator.world.disk import SimStore
from tools.simulator.world.filed import ONE_IN
from tools.simulator.writing import written


@pytest.mark.slow  # for its length
def test_some_scenarios_are_told_on_files_and_nothing_is_left_of_them() -> None:
    script = written(2 * ONE_IN, SHORT)
    stage = Stage(script)
    files = stage.net.files
    assert stage.net.is_filed
    history = stage.played()
    assert [str(event) for event in history.of("problem")] == []
    assert sum(1 for _ in history.of("crash")) > 0, "files were opened again"
    assert not files.exists()
    assert told(script).history.digest() == history.digest()


def test_others_need_none() -> None:
    stage = Stage(written(ONE_IN + 1, SHORT))
    assert not stage.net.is_filed
    stage.close()


def test_a_file_that_holds_something_else_ends_the_scenario(monkeypatch: pytest.MonkeyPatch) -> None:
    real = SQLiteStore.commit

    def forgetful(self: SQLiteStore, ops: Sequence[Op]) -> None:
        real(self, [op for op in ops if not isinstance(op, Drop)])

    monkeypatch.setattr(SQLiteStore, "commit", forgetful)
    (violation,) = told(written(2 * ONE_IN, SHORT)).violations
    assert violation.invariant == "crash"


def old_copy(*steps: tuple[float, str]) -> History:
    """Run a node that restarts with an old copy of its store, made before its last commit."""
    stage = Stage(with_steps(written(1, SHORT), ()))
    name = stage.script.nodes[0]
    for at, kind in ((5, "copy"), (14, "kill"), (15, "put back"), (16, "start"), *steps):
        stage.net.at(at, partial(stage.do, Step(0.0, kind, (name,))))
    node = stage.nodes[name]

    def tended() -> None:
        node.guard.tend()

    stage.net.at(6, lambda: node.guard.commit([Put("weights", b"k", b"v")]))
    stage.net.at(6.1, node.store.sync)
    stage.net.at(6.2, tended)
    return stage.played()


@pytest.mark.usefixtures("soon_over")
def test_an_old_copy_of_a_store_is_refused_and_the_newest_is_taken() -> None:
    history = old_copy((17, "restore"))
    assert [event.text for event in history.of("refused")] == ["STORE_ROLLED_BACK"]
    assert [event.text for event in history.of("fault")] == ["kill", "old copy"]
    assert [event.text for event in history.of("problem")] == []


@pytest.mark.slow  # for its length
@pytest.mark.usefixtures("soon_over")
def test_a_node_whose_witness_says_nothing_goes_on_with_an_old_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Witness, "record_progress", lambda self, commits, next_position: None)
    assert not list(old_copy().of("refused"))


def test_an_old_copy_has_nothing_of_what_was_not_on_the_disk_then() -> None:
    store = SimStore(lambda ops: None, clock=lambda: 2.0)
    store.commit([Put("rule", b"a", b"1")])
    store.keep_copy(1.0)
    store.sync()
    store.commit([Put("rule", b"b", b"2")])
    store.sync()
    assert store.put_back(before=9.0)
    store.sync()  # the commit of the next process
    assert store.load().tables["rule"] == {}
