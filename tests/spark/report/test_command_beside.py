"""Reports while another job writes to the history."""

from typing import Any

import pytest

from mesh.history.errors import SparkJobError
from mesh.history.report import command


def failing(*codes: str) -> Any:
    """Return a function that raises an error of each code in turn, and then returns "made"."""
    left = list(codes)

    def fails(*_: object, **__: object) -> str:
        if left:
            raise SparkJobError("Another job writes to the history.", "Wait.", left.pop(0))
        return "made"

    return fails


@pytest.fixture
def gathers(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Gather while ingest fails with `code`; `is_there` says whether the history exists."""

    def run(code: str, is_there: bool) -> None:
        monkeypatch.setattr(command, "ingest", failing(code))
        monkeypatch.setattr("mesh.history.reading.exists", lambda session, to: is_there)
        command._gather(None, ["/snapshots"], "/history")  # type: ignore[arg-type]

    return run


@pytest.mark.parametrize("code", ["IN_USE", "LOCK_LOST"])
def test_while_another_job_ingests_the_report_says_so_and_goes_on(
    gathers: Any, capsys: pytest.CaptureFixture[str], code: str
) -> None:
    gathers(code, True)
    told = capsys.readouterr()
    assert told.out == ""
    assert (
        f"Another job writes to the history. [{code}]" in told.err
        and "shows what is in the history" in told.err
    )


@pytest.mark.parametrize(("code", "is_there"), [("IN_USE", False), ("DISK_FULL", True), ("CHECKPOINT", True)])
def test_where_nothing_was_gathered_yet_and_for_other_failures_it_ends(
    gathers: Any, code: str, is_there: bool
) -> None:
    with pytest.raises(SparkJobError) as caught:
        gathers(code, is_there)
    assert caught.value.code == code


def test_files_that_another_job_replaces_while_they_are_read_are_read_again() -> None:
    assert command.again_if_changed(failing("CHANGED", "CHANGED")) == "made"
    with pytest.raises(SparkJobError, match="CHANGED"):
        command.again_if_changed(failing(*["CHANGED"] * 9))
    with pytest.raises(SparkJobError, match="MEMORY"):
        command.again_if_changed(failing("MEMORY"))
