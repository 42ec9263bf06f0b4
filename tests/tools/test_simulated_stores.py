"""Is the simulated disk like a real one? Both are written in some stories, and compared at each start."""

from collections.abc import Sequence

import pytest

from mesh.store.base import Drop, Op
from mesh.store.sqlite import SQLiteStore
from tools.simulating.filed import ONE_IN
from tools.simulating.profiles import SHORT
from tools.simulating.script import written
from tools.simulating.stage import Stage
from tools.simulating.story import told


@pytest.mark.whole  # for its length
def test_some_stories_are_told_on_files_and_nothing_is_left_of_them() -> None:
    script = written(2 * ONE_IN, SHORT)
    stage = Stage(script)
    files = stage.net.files
    assert files is not None
    history = stage.played()
    assert [str(event) for event in history.of("problem")] == []
    assert sum(1 for _ in history.of("crash")) > 0, "files were opened again"
    assert not files.exists()
    assert told(script).history.digest() == history.digest()


def test_others_need_none() -> None:
    assert Stage(written(ONE_IN + 1, SHORT)).net.files is None


def test_a_file_that_holds_something_else_ends_the_story(monkeypatch: pytest.MonkeyPatch) -> None:
    real = SQLiteStore.commit

    def forgetful(self: SQLiteStore, ops: Sequence[Op]) -> None:
        real(self, [op for op in ops if not isinstance(op, Drop)])

    monkeypatch.setattr(SQLiteStore, "commit", forgetful)
    (violation,) = told(written(2 * ONE_IN, SHORT)).violations
    assert violation.invariant == "crash"
