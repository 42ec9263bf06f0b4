"""What a machine lacks, and whether it is fit for the checks at all."""

import resource
from collections import namedtuple
from pathlib import Path

import pytest

from tools.checking import surroundings
from tools.checking.surroundings import FILES, MEMORY, SPACE, Need, Unfit, require_room

Usage = namedtuple("Usage", "free")


def test_a_need_that_is_not_met_says_what_is_skipped_and_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lacking = Need("Chromium", lambda: False, "the tests of the report page", "apt-get install chromium")
    monkeypatch.setattr(surroundings, "NEEDS", (lacking, Need("Java", lambda: True, "", "")))
    assert [str(need) for need in surroundings.missing(is_all=True)] == [
        "no Chromium: the tests of the report page are skipped; apt-get install chromium"
    ]
    assert list(surroundings.missing(is_all=False)) == []


def test_every_probe_answers_here() -> None:
    assert {need.is_there() for need in surroundings.NEEDS} <= {True, False}


def test_without_a_path_only_what_needs_no_program_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    missing = {need.name for need in surroundings.missing(is_all=True)}
    assert {"Node.js", "C compiler", "Chromium", "strace", "Prometheus", "network namespaces"} <= missing


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("shutil.disk_usage", lambda place: Usage(SPACE - 1), "MiB free"),
        ("available_memory", lambda: MEMORY - 1, "of memory are available"),
        ("raise_file_limit", lambda: FILES - 1, "ulimit -Hn 1024"),
    ],
)
def test_too_little_room_ends_with_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, value: object, text: str
) -> None:
    require_room(tmp_path)
    monkeypatch.setattr(f"tools.checking.surroundings.{name}", value)
    with pytest.raises(Unfit, match=text):
        require_room(tmp_path)


def test_the_limit_of_files_is_raised_as_far_as_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "setrlimit", lambda of, limits: taken.append(limits))
    for limits, raised in (((256, 4096), FILES), ((256, 512), 512), ((256, resource.RLIM_INFINITY), FILES)):
        monkeypatch.setattr(resource, "getrlimit", lambda of, limits=limits: limits)
        assert surroundings.raise_file_limit() == raised
        assert taken.pop() == (raised, limits[1])
    monkeypatch.setattr(resource, "getrlimit", lambda of: (5000, 5000))
    assert (surroundings.raise_file_limit(), taken) == (5000, [])
