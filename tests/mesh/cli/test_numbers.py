"""What is no number is refused where one is typed, before anybody is asked."""

import click
import pytest

from mesh.cli.main import main, mesh

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


def test_no_option_takes_a_number_that_does_not_end() -> None:
    """A new option is meant: each that takes a number with bounds is of our kind."""

    def all_of(command: click.Command) -> list[click.Command]:
        if not isinstance(command, click.Group):
            return [command]
        context = click.Context(command)
        subs = [command.get_command(context, name) for name in command.list_commands(context)]
        return [one for sub in subs if sub is not None for one in all_of(sub)]

    for command in all_of(mesh):
        for param in command.params:
            if isinstance(param.type, (click.FloatRange, click.types.FloatParamType)):
                assert type(param.type).__name__ == "Number", (command.name, param.name)
