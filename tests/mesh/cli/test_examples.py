"""The help of each command ends with an example that the command line accepts."""

import re
import shlex
from collections.abc import Iterator
from importlib import import_module

import click
import pytest

from mesh.cli.examples import EXAMPLES, shown
from mesh.cli.main import main, mesh
from mesh.cli.verbs import AT_HOME, SECTIONS, VERBS, module_of
from mesh.reasons.what import What

PASSED_ON = "weights learn"  # the Spark job has a help of its own


def paths() -> Iterator[str]:
    """Yield the words of each command that is no group."""
    for verb in VERBS:
        yield from _below(import_module(module_of(verb)).command, verb)


def _below(command: click.Command, path: str) -> Iterator[str]:
    if not isinstance(command, click.Group) or command.invoke_without_command:
        yield path
    for name, below in getattr(command, "commands", {}).items():
        yield from _below(below, f"{path} {name}")


def typed(line: str) -> list[str]:
    """Return the words that `mesh` receives, without redirections and substitutions of the shell."""
    if inside := re.search(r"\$\((.*)\)", line):
        line = inside[1]
    program, *words = shlex.split(line)
    assert program == "mesh"
    return [word for word in words if word[0] not in "<>"]


def parsed(words: list[str]) -> str:
    """Return the path of the command that these words select, after its options and arguments were parsed."""
    with mesh.make_context("mesh", list(words)) as context:
        command: click.Command = mesh
        path = []
        while isinstance(command, click.Group) and (rest := [*context._protected_args, *context.args]):
            name, below, rest = command.resolve_command(context, rest)
            assert name is not None and below is not None
            path.append(name)
            command, context = below, below.make_context(name, rest, parent=context)
    return " ".join(path)


def test_each_command_ends_its_help_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for path in paths():
        if path == PASSED_ON:
            continue
        assert main([*path.split(), "--help"]) == 0, path
        said, err = capsys.readouterr()
        assert said.startswith(f"Usage: mesh {path}") and err == ""
        _, _, examples = said.partition("\n  Example")
        assert EXAMPLES[path] and all(f"\n    {line}" in examples for line in EXAMPLES[path]), path


def test_the_command_line_takes_each_example() -> None:
    for path, lines in EXAMPLES.items():
        for line in lines:
            assert parsed(typed(line)) == path, line


def test_a_message_in_an_example_is_named_as_one() -> None:
    for line in EXAMPLES["why message"]:
        What.of("message", line.split()[-1])


def test_an_example_that_the_command_line_refuses_is_found() -> None:
    for line in (
        "mesh pub",
        "mesh queue take jobs --cuont 1",
        "mesh queue take jobs --count many",
        "mesh completion csh",
    ):
        with pytest.raises(click.UsageError):
            parsed(typed(line))


def test_there_is_no_example_of_what_is_not_there() -> None:
    assert sorted(EXAMPLES) == sorted(paths())
    assert shown("nothing") == ""


def test_the_help_of_a_group_shows_how_some_of_it_is_typed(capsys: pytest.CaptureFixture[str]) -> None:
    groups = {path.split()[0] for path in paths() if " " in path}
    assert len(groups) > 10
    for group in groups:
        assert main([group, "--help"]) == 0
        said = capsys.readouterr().out
        assert f"    mesh {group} " in said.partition("\n  Example")[2], group
        assert max(map(len, said.splitlines())) <= 80, group


def test_the_help_of_mesh_has_each_verb_below_what_it_is_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    said = capsys.readouterr().out
    verbs = [verb for section in SECTIONS.values() for verb in section]
    assert re.findall(r"^  ([a-z]+)  ", said, re.MULTILINE) == verbs and len(set(verbs)) == len(verbs)
    assert re.findall(r"^(\w.*):$", said, re.MULTILINE) == ["Options", *SECTIONS]
    assert set(AT_HOME) <= set(verbs)
