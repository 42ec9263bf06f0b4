"""Definitions of spaces: names and rows."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mesh.errors import BadKey, BadName, LocalError
from mesh.features.spaces.model.definition import (
    Definition,
    check_space,
    check_space_key,
    is_as_wanted,
    move_command,
    packed,
    unpacked,
    why_command,
)


def definition(home: int, generation: int = 1) -> Definition:
    return Definition(bytes([home]) * 16, f"n{home}", generation, 10, 1000)


def test_a_definition_survives_its_row_and_a_damaged_row_is_refused() -> None:
    assert unpacked(packed(definition(1))) == definition(1)
    for row in (
        b"",
        b"x",
        packed(definition(1, 0)),
        packed(Definition(b"x", "n", 1, 1, 1)),
        packed(Definition(bytes(16), "a b", 1, 1, 1)),
    ):
        with pytest.raises(LocalError):
            unpacked(row)


@pytest.mark.parametrize("name", ["map/prices", "counter/a.b", "map/a/b", "lock/x"])
def test_a_name_has_a_kind(name: str) -> None:
    assert check_space(name) == name


@pytest.mark.parametrize("name", ["", "map", "map/", "lock/", "prices", "map/+", "map/" + "x" * 230, "map/#"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(BadName):
        check_space(name)


def test_a_key_has_at_most_512_bytes() -> None:
    assert check_space_key("é" * 256)
    for key in ("é" * 257, "", "a\nb"):
        with pytest.raises(BadKey):
            check_space_key(key)


def test_the_command_that_moves_a_space_names_it() -> None:
    assert move_command("map/a/b") == "mesh map move a/b"
    assert move_command("counter/g") == "mesh counter move --group g"
    assert move_command("lock/g") == "mesh lock move --group g"


@pytest.mark.parametrize(
    ("change", "expected"),
    [({}, True), ({"generation": 9, "version": 8}, True), ({"home": b"o"}, False), ({"max_keys": 6}, False),
     ({"max_bytes": 8}, False), ({"voters": (b"h", b"o", b"p")}, False)],
)  # fmt: skip
def test_a_definition_is_as_wanted_with_the_home_limits_and_voters(
    change: dict[str, Any], expected: bool
) -> None:
    wanted = Definition(b"h", "heron", 2, 5, 7, (b"h", b"i", b"j"))
    assert is_as_wanted(replace(wanted, **change), wanted) is expected
    removed = replace(wanted, home=b"")
    assert (
        not is_as_wanted(wanted, removed) and is_as_wanted(None, removed) and not is_as_wanted(None, wanted)
    )


def test_a_hint_explains_each_kind_of_space() -> None:
    names = ("map/m", "counter/g", "lock/g")
    assert [*map(why_command, names)] == ["mesh why map m", "mesh why counter g", "mesh lock ls --group g"]
