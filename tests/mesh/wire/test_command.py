"""The registration of command classes, and the reading of their frames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import pytest

from mesh.errors import RemoteError
from mesh.wire import command as module
from mesh.wire.command import COMMANDS, Checks, Command, UnknownCommand, command, decode, encode

TAG = 99


def not_13(number: int) -> None:
    if number == 13:
        raise ValueError("13 is not allowed")


class Wave(Command, frozen=True, tag=TAG):
    limit: ClassVar[int] = 32
    checks: ClassVar[Checks] = (("times", not_13),)

    times: int
    text: str = ""


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    command(Wave)
    yield
    del COMMANDS[TAG], module._readers[bytes((TAG,))]


def test_a_registered_command_is_read() -> None:
    assert decode(encode(Wave(2))) == Wave(2)
    assert Wave(2).frame_counts() == ()


def test_a_command_that_is_not_registered_is_unknown() -> None:
    class Later(Command, frozen=True, tag=TAG + 1):
        text: str

    with pytest.raises(UnknownCommand) as unknown:
        decode(encode(Later("new")))
    assert (unknown.value.tag, unknown.value.field) == (TAG + 1, "new")


@pytest.mark.parametrize(("wave", "code"), [(Wave(13), "MALFORMED"), (Wave(1, "x" * 40), "FRAME_TOO_LARGE")])
def test_limit_and_checks_apply(wave: Wave, code: str) -> None:
    with pytest.raises(RemoteError) as refused:
        decode(encode(wave))
    assert refused.value.code == code


def test_a_tag_belongs_to_one_command() -> None:
    class Same(Command, frozen=True, tag=TAG):
        pass

    with pytest.raises(ValueError, match="Same has the tag 99 of Wave"):
        command(Same)


@pytest.mark.parametrize("tag", [0, 128, "wave"])
def test_a_tag_is_a_small_number(tag: int | str) -> None:
    kind = type("Odd", (Command,), {}, frozen=True, tag=tag)
    with pytest.raises(ValueError, match=r"which is not in 1\.\.127"):
        command(kind)
