"""What is no number is refused where one is typed, before anybody is asked."""

from collections.abc import Iterator
from importlib import import_module

import click
import pytest

from mesh.cli.main import main
from mesh.cli.options import FiniteNumber
from mesh.cli.verbs import VERBS
from spark.options import Number as JobNumber

NO_NUMBERS = ("nan", "-nan", "inf", "1e999", "", "x", "\udcff", "-1")


@pytest.mark.parametrize(
    "line",
    [
        ["top", "--interval"],
        ["sub", "a", "--wait"],
        ["pub", "a", "b", "--expiry"],
        ["req", "a", "b", "--timeout"],
        ["queue", "put", "q", "x", "--delay"],
        ["queue", "take", "q", "--timeout"],
        ["bench", "pub", "--seconds"],
        ["bench", "pub", "--rate"],
        ["bench", "get", "--seconds"],
    ],
)
def test_what_is_no_number_is_refused(line: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for text in NO_NUMBERS:
        assert main([*line, text]) == 2, text
        said = capsys.readouterr().err
        assert f"'{line[-1]}'" in said and len(said) < 1000, (text, said)


def all_of(command: click.Command) -> Iterator[click.Command]:
    if isinstance(command, click.Group):
        for below in command.commands.values():
            yield from all_of(below)
    else:
        yield command


def test_no_option_takes_a_number_that_does_not_end() -> None:
    """A new option is meant: each that takes a number with a point is of our kind."""
    commands = [each for verb in VERBS for each in all_of(import_module(f"mesh.cli.{verb}").command)]
    params = [(command.name, param) for command in commands for param in command.params]
    numbers = [
        row for row in params if isinstance(row[1].type, (click.FloatRange, click.types.FloatParamType))
    ]
    assert len(numbers) > 10
    assert not [(verb, it.name) for verb, it in numbers if type(it.type) not in (FiniteNumber, JobNumber)]
