"""Options: patterns and keys are distinguished, and numbers, sizes and times are read and written."""

from collections.abc import Iterator
from importlib import import_module

import click
import pytest

from mesh.cli.main import main
from mesh.cli.options import FiniteNumber, count, headers, plainly, query, size
from mesh.cli.verbs import VERBS, module_of
from mesh.errors import MeshTimeout
from mesh.history.options import Number as JobNumber
from tests.mesh.cli.fake import Given


@pytest.mark.parametrize("text", ["#", "+", "a/#", "+/b", "a/+/c"])
def test_a_whole_level_plus_or_hash_makes_a_pattern(text: str) -> None:
    assert query(text) == {"pattern": text}


@pytest.mark.parametrize("text", ["a", "a/b", "c#", "a+b/c", "a/#1"])
def test_any_other_text_is_a_key(text: str) -> None:
    assert query(text) == {"key": text}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.00041, "0.4 ms"),
        (0.0123, "12 ms"),
        (0.999, "999 ms"),
        (1.0, "1 s"),
        (3.44, "3.4 s"),
        (119, "119 s"),
        (120, "2 m"),
        (7200, "2 h"),
        (172800, "2 d"),
    ],
)
def test_a_duration_reads_well(seconds: float, text: str) -> None:
    assert plainly(seconds) == text


def test_counts_know_their_plural() -> None:
    assert [count(n, "line") for n in (0, 1, 1234)] == ["0 lines", "1 line", "1,234 lines"]


def test_headers_are_pairs() -> None:
    assert headers(()) is None
    found = headers(("A=1=2", "b="))
    assert found is not None and list(found.items()) == [("A", "1=2"), ("b", "")]


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 KB"), (1234, "1.2 KB"), (34_000_000, "34 MB"), (10**10, "10 GB")],
)
def test_a_size_reads_well(number: int, text: str) -> None:
    assert size(number) == text


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
    """New options are meant: each option for a fraction must use one of our types."""
    commands = [each for verb in VERBS for each in all_of(import_module(module_of(verb)).command)]
    params = [(command.name, param) for command in commands for param in command.params]
    numbers = [
        row for row in params if isinstance(row[1].type, (click.FloatRange, click.types.FloatParamType))
    ]
    assert len(numbers) > 10
    assert not [(verb, it.name) for verb, it in numbers if type(it.type) not in (FiniteNumber, JobNumber)]


def test_verbs_that_wait_for_an_answer_take_a_timeout(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    late = MeshTimeout("no answer within 3 s.")
    for words in (["get", "k"], ["erase", "k"], ["send", "client/joe", "x"], ["pub", "k", "x"]):
        client = given(get=late, erase=late, send=late, post=None, flush=late)
        assert main([*words, "--timeout", "3"]) == 124
        assert client.opened["timeout"] == client.opened["patience"] == 3.0
        assert "no answer within 3 s" in capsys.readouterr().err
        assert main([*words, "--timeout", "0"]) == 2
