"""The progress of a long job without a terminal."""

from types import SimpleNamespace
from typing import Any

import pytest

from mesh.history.progress import Progress


def test_where_there_is_no_terminal_each_step_is_a_line_once(capsys: pytest.CaptureFixture[str]) -> None:
    session: Any = SimpleNamespace(sparkContext=SimpleNamespace(statusTracker=lambda: None))
    with Progress(session, "starting") as bar:
        bar.show("1 of 2: contents")
        bar.show("1 of 2: contents")
        bar.show("2 of 2: done")
    assert capsys.readouterr() == ("", "  1 of 2: contents\n  2 of 2: done\n")
