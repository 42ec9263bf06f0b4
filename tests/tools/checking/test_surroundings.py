"""The needs that a machine does not meet, and its fitness for the checks."""

import errno
import resource
from collections import namedtuple
from pathlib import Path

import pytest

from tools.checking import surroundings
from tools.checking.surroundings import FILES, MEMORY, MIB, SPACE, Need, Unfit, require_room

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
        ("has_loopback", lambda: False, "ip link set lo up"),
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


@pytest.mark.parametrize(
    ("files", "address_space", "expected"),
    [
        ({}, resource.RLIM_INFINITY, 9 * MIB),
        ({}, 4 * MIB, 4 * MIB),
        ({"memory.max": "max\n", "memory.current": f"{MIB}\n", "memory.stat": ""},
          resource.RLIM_INFINITY, 9 * MIB),
        ({"memory.max": f"{7 * MIB}\n", "memory.current": f"{5 * MIB}\n",
          "memory.stat": f"file 9\ninactive_file {MIB}\n"}, resource.RLIM_INFINITY, 3 * MIB),
        ({"memory/memory.limit_in_bytes": f"{3 * MIB}\n", "memory/memory.usage_in_bytes": f"{MIB}\n",
          "memory/memory.stat": "total_inactive_file 0\n"}, resource.RLIM_INFINITY, 2 * MIB),
    ],
)  # fmt: skip
def test_of_memory_counts_what_all_limits_leave(
    files: dict[str, str], address_space: int, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text(f"MemFree: 1 kB\nMemAvailable: {9 * 1024} kB\n")
    for name, text in files.items():
        path = tmp_path / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(resource, "getrlimit", lambda of: (address_space, address_space))
    assert surroundings.available_memory(tmp_path) == expected


def test_without_a_network_nothing_can_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    assert surroundings.has_loopback()

    def unreachable(address: object, timeout: float) -> None:
        raise OSError(errno.ENETUNREACH, "Network is unreachable")

    monkeypatch.setattr("socket.create_connection", unreachable)
    assert not surroundings.has_loopback()
