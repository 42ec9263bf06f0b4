"""The figures of a machine: measured, within the limit of a container, or from a file."""

import json
import logging
import re
from pathlib import Path
from typing import Any

import psutil
import pytest

from mesh.discovery.state import CORES
from mesh.errors import BadConfig
from mesh.shell.probe import FileProbe, MachineProbe

GIB = 1024**3


def write(path: Path, **figures: Any) -> Path:
    """Replace the file by a new one, as an editor does."""
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(figures))
    return beside.replace(path)


def container(folder: Path, version: int, limit: str, used: int, kept: int) -> Path:
    place = folder if version == 2 else folder / "memory"
    place.mkdir(exist_ok=True)
    names = {
        2: ("memory.max", "memory.current", "inactive_file"),
        1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    }
    place.joinpath(names[version][0]).write_text(f"{limit}\n")
    place.joinpath(names[version][1]).write_text(f"{used}\n")
    place.joinpath("memory.stat").write_text(f"anon 1\n{names[version][2]} {kept}\nactive_file 3\n")
    return folder


def test_a_machine_tells_of_each_core_and_its_memory() -> None:
    sample = MachineProbe().sample(lag=0.25)
    assert len(sample.cpu) == min(CORES, psutil.cpu_count() or 0)
    assert all(0 <= idle <= 100 for idle in sample.cpu)
    assert 0 < sample.ram_free <= sample.ram_total
    assert sample.lag == 0.25


def test_all_nodes_of_a_machine_have_its_mark_and_nobody_finds_it_by_that(tmp_path: Path) -> None:
    number = tmp_path / "boot_id"
    number.write_text("0e8ff65c-0f3e-4a6b-9a43-02a4ad2f7f5c\n")
    probes = [MachineProbe(boot_id=number) for _ in range(2)]
    first, second = (probe.sample().machine for probe in probes)
    assert first == second and re.fullmatch("[0-9a-f]{8}", first)
    assert first not in number.read_text()
    number.write_text("9e8ff65c-0f3e-4a6b-9a43-02a4ad2f7f5c\n")
    assert MachineProbe(boot_id=number).sample().machine != first
    assert MachineProbe(boot_id=tmp_path / "none").sample().machine == ""


def test_each_sample_has_the_work_since_the_last_one_and_never_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without an interval psutil counts from its last call, and returns at once."""
    figures, asked = iter([[7.0, 7.0], [25.4, 100.0], [0.0, 50.0]]), list[dict[str, object]]()

    def cpu_percent(**options: object) -> list[float]:
        asked.append(options)
        return next(figures)

    monkeypatch.setattr(psutil, "cpu_percent", cpu_percent)
    probe = MachineProbe()
    assert [probe.sample().cpu for _ in range(2)] == [(75, 0), (100, 50)]
    assert asked == [{"percpu": True}] * 3


@pytest.mark.parametrize("version", [1, 2])
def test_in_a_container_its_limit_counts_and_files_kept_in_memory_are_free(
    version: int, tmp_path: Path
) -> None:
    limit = psutil.virtual_memory().total // 4
    cgroup = container(tmp_path, version, str(limit), used=limit // 2, kept=limit // 4)
    sample = MachineProbe(cgroup).sample()
    assert sample.ram_total == limit
    assert sample.ram_free == limit - (limit // 2 - limit // 4)


def test_in_a_container_that_uses_more_than_its_limit_nothing_is_free(tmp_path: Path) -> None:
    assert MachineProbe(container(tmp_path, 2, "1000000", used=2_000_000, kept=0)).sample().ram_free == 0


@pytest.mark.parametrize("limit", ["max", str(2**60), "no number"])
def test_a_limit_that_is_none_changes_nothing(limit: str, tmp_path: Path) -> None:
    sample = MachineProbe(container(tmp_path, 2, limit, used=5, kept=0)).sample()
    assert sample.ram_total == psutil.virtual_memory().total


def test_a_file_speaks_for_the_machine_and_is_read_again_when_it_changes(tmp_path: Path) -> None:
    path = write(tmp_path / "probe.json", cpu=[10, 20.4], ram_free=GIB, ram_total=4 * GIB)
    probe = FileProbe(path)
    sample = probe.sample(lag=0.5)
    assert (sample.cpu, sample.ram_free, sample.ram_total, sample.lag) == ((90, 80), GIB, 4 * GIB, 0.5)
    write(path, cpu=[100, 100], ram_free=GIB, ram_total=4 * GIB)
    assert probe.sample().cpu == (0, 0)


def test_a_file_damaged_later_keeps_its_last_figures_and_is_named_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path / "probe.json", cpu=[30])
    probe = FileProbe(path)
    path.write_text("{")
    with caplog.at_level(logging.WARNING, "mesh.probe"):
        assert [probe.sample().cpu for _ in range(3)] == [(70,)] * 3
        path.unlink()
        assert probe.sample().cpu == (70,)
        assert [record.name for record in caplog.records] == ["mesh.probe"]
        assert str(path) in caplog.text
        write(path, cpu=[40])
        assert probe.sample().cpu == (60,)
        path.write_text("[]")
        assert probe.sample().cpu == (60,)
        assert len(caplog.records) == 2


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"cpu": [101]}', '{"cpu": [-1]}', '{"cpu": [NaN]}', '{"cpu": "10"}', '{"ram_free": -1}',
     '{"cpus": [10]}', json.dumps({"cpu": [1] * (CORES + 1)})],
)  # fmt: skip
def test_a_file_that_makes_no_sense_is_refused_at_the_start(text: str, tmp_path: Path) -> None:
    path = tmp_path / "probe.json"
    path.write_text(text)
    with pytest.raises(BadConfig, match=r"probe\.json does not have") as refusal:
        FileProbe(path)
    assert '{"cpu": [10, 20]' in refusal.value.hint


def test_a_file_that_is_not_there_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="No such file"):
        FileProbe(tmp_path / "probe.json")


def test_without_a_descriptor_a_machine_is_told_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    probe = MachineProbe()
    before = probe.sample()

    def refused(**options: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(psutil, "cpu_percent", refused)
    after = probe.sample(0.5)
    assert (after.cpu, after.ram_total, after.lag) == ((), before.ram_total, 0.5)
