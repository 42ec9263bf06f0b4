"""Command lines that cannot be executed end with one error, before Java starts."""

import pytest

from mesh.history.cli import JOBS, main


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object) -> None:
        raise ZeroDivisionError("Java has started")

    monkeypatch.setattr("mesh.history.jvm.start", start)


def error(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("job", JOBS)
def test_without_pyspark_each_job_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, job: str
) -> None:
    monkeypatch.setattr("mesh.history.cli.find_spec", lambda name: None)
    told = error(capsys, job, "--to", "/tmp/history")
    assert "pip install 'heronry[spark]'" in told and "[NO_SPARK]" in told


@pytest.mark.parametrize("job", ["ingest", "compact", "report", "weights"])
@pytest.mark.parametrize(("place", "why"), [("/tmp/x:y", "a colon"), ("/tmp/x*", "as wildcards")])
def test_a_place_that_spark_cannot_use_is_refused(
    capsys: pytest.CaptureFixture[str], job: str, place: str, why: str
) -> None:
    told = error(capsys, job, "--to", place)
    assert repr(place) in told and why in told and "[BAD_PLACE]" in told


def test_only_a_file_of_the_table_is_set_aside(capsys: pytest.CaptureFixture[str]) -> None:
    assert "[NO_SUCH_FILE]" in error(capsys, "set-aside", "/etc/passwd", "--to", "/tmp/history")
