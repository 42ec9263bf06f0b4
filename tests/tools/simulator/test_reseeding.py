"""The seed of a planted mistake is written in its own row, and nowhere else."""

from pathlib import Path

import pytest

from tools.simulator import planted
from tools.simulator.planted import BUGS
from tools.simulator.reseeding import reseeded

TABLE = """
    "no bound": Bug("slow", 66, "R1", no_bound),
    "no": (3, "Q1", no),
    "with a profile": ("short", 7, "G2", some, inf),
    "a long name": (
        5,
        "Q2", far),
"""


@pytest.mark.parametrize(
    ("name", "was"), [("no bound", "66,"), ("no", "3,"), ("a long name", "5,"), ("with a profile", "7,")]
)
def test_the_seed_of_one_is_written(name: str, was: str) -> None:
    assert reseeded(TABLE, name, 1234) == TABLE.replace(was, "1234,", 1)


def test_each_mistake_stands_in_one_table() -> None:
    folder = Path(planted.__file__).parent
    tables = [file.read_text() for file in folder.glob("planted*.py")]
    for name in BUGS:
        assert sum(reseeded(table, name, 99_999) != table for table in tables) == 1
