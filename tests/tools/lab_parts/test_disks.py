"""The small disks of the lab can be filled, and a node on one continues when there is space again."""

import os
from pathlib import Path

import pytest

from tests.netlab import require
from tests.tools.lab_parts.test_lab_parts import lab
from tools.lab_parts.disks import SmallDisk, disks_of


def free(place: Path) -> int:
    found = os.statvfs(place)
    return found.f_bavail * found.f_frsize


def test_a_disk_is_filled_to_its_end_emptied_and_gone() -> None:
    require()
    with disks_of(["heron", "stork"]) as disks:
        place, other = (Path(disks[name].options[1]).parent for name in ("heron", "stork"))
        before = free(place)
        disks["heron"].fill()
        assert (free(place), free(other)) == (0, before)
        disks["heron"].fill()  # no space is left
        disks["heron"].empty()
        assert free(place) == before
    assert not place.exists() and not other.exists()


def test_to_empty_a_disk_that_was_not_filled_is_nothing(tmp_path: Path) -> None:
    SmallDisk(tmp_path).empty()


@pytest.mark.slow
def test_full_disks_lose_nothing_of_queues() -> None:
    require()
    said = lab("queues", "--seconds", "8", "--rate", "10", "--rows", "43", "--seed", "1", limit=1800)
    assert said.returncode == 0, said.stdout + said.stderr
    assert "row 43" in said.stdout
