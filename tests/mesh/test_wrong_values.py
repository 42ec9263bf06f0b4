"""Texts for values of a wrong type, size or with wrong fields."""

from typing import Annotated, Any

import msgspec
import pytest

from mesh.wrong_values import why_invalid


class Terms(msgspec.Struct, forbid_unknown_fields=True):
    names: list[str]
    size: Annotated[int, msgspec.Meta(ge=1, le=9)] = 1


@pytest.mark.parametrize(
    ("value", "shape", "why"),
    [
        (5, list[str], "it must be a list, not a whole number"),
        (["a", 1.5], list[str | int], "entry [1] must be a whole number or a text, not a decimal number"),
        ("x", bool | None, "it must be true or false, not a text"),
        (0, Annotated[int, msgspec.Meta(ge=1)], "it must be a whole number of at least 1"),
        ([], Annotated[list[str], msgspec.Meta(min_length=1)], "it must be a list of at least 1 entries"),
        ({"names": ["a", 5]}, Terms, "names[1] must be a text, not a whole number"),
        ({"names": [], "size": 10}, Terms, "size must be a whole number of at most 9"),
        ({}, Terms, "it lacks 'names'"),
        ({"names": [], "sise": 1}, Terms, "it has the unknown field 'sise'"),
        (5, int | str, ""),
    ],
)
def test_each_reason_names_the_place_and_what_it_must_be(value: Any, shape: Any, why: str) -> None:
    try:
        msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        assert why_invalid(error) == why
    else:
        assert not why


def test_an_unknown_text_stays() -> None:
    assert why_invalid(ValueError("Invalid enum value 'x'")) == "Invalid enum value 'x'"
