"""Checks a change: lint, format, types, import contracts, fuzzing, docs and tests."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import click
from rich.console import Console

from tools.checking import changed, surroundings
from tools.checking.bar import Display
from tools.checking.commands import Command, Commands, cpu
from tools.checking.progress import VARIABLE
from tools.checking.steps import TESTS, Scope, Step, steps

ROOT = Path(__file__).resolve().parent.parent.parent
NOT_RUN = "Not run: tests marked slow, spark or browser, which take minutes. All: tools/check --all"
LAST = "the last commit"


class Check:
    """A run of `tools/check`."""

    def __init__(self, display: Display, commands: Commands) -> None:
        self._display = display
        self._commands = commands
        self._failed: list[str] = []

    def run(self, plan: list[Step]) -> bool:
        """Run all steps, even after one has failed, and return whether all passed."""
        began, used = time.monotonic(), cpu()
        try:
            background = [
                (step, self._start(step.commands[0]), time.monotonic()) for step in plan if step.is_background
            ]
            for step in plan:
                if not step.is_background:
                    self._run(step, None, time.monotonic())
            for step, first, start in background:
                self._run(step, first, start)
            if left := self._commands.end_remaining():
                self._display.failed("left behind", 0, "\n".join(left))
                self._failed.append("processes left behind")
        except BaseException:
            self._commands.stop()
            raise
        seconds = f"{time.monotonic() - began:.0f} s, {cpu() - used:.0f} s of CPU"
        if self._failed:
            self._display.line(f"failed: {', '.join(self._failed)} ({seconds})", "bold red")
        else:
            self._display.line(f"passed in {seconds}", "bold green")
        return not self._failed

    def _start(self, words: tuple[str, ...]) -> Command:
        return self._commands.start(words)

    def _run(self, step: Step, first: Command | None, start: float) -> None:
        with self._display.running(step.name) as task:
            if step.name == TESTS:
                code, output = self._run_tests(step.commands[0], task), ""
            else:
                code, output = self._run_commands(step, first)
        if code:
            self._failed.append(step.name)
            self._display.failed(step.name, time.monotonic() - start, output)
        else:
            self._display.passed(step.name, time.monotonic() - start, step.about)

    def _run_commands(self, step: Step, first: Command | None) -> tuple[int, str]:
        for n, words in enumerate(step.commands):
            command = first if n == 0 and first else self._start(words)
            if code := command.wait():
                return code, f"$ {' '.join(words)}\n{command.output()}"
        return 0, ""

    def _run_tests(self, words: tuple[str, ...], task: int) -> int:
        reader, writer = os.pipe()
        command = self._commands.start(words, fds=(writer,), shows=True, **{VARIABLE: str(writer)})
        os.close(writer)
        thread = self._display.follow(task, reader)  # type: ignore[arg-type]
        code = command.wait()
        thread.join(1.0)
        return code


def chosen(plan: list[Step], names: tuple[str, ...]) -> list[Step]:
    """Return the named steps of `plan`, or all without a name. Raises UsageError for an unknown one."""
    known = {step.name for step in plan}
    if unknown := [name for name in names if name not in known]:
        raise click.UsageError(
            f"Unknown step {unknown[0]!r}. Steps: {', '.join(step.name for step in plan)}."
        )
    return [step for step in plan if not names or step.name in names]


def scope_of(is_all: bool, commit: str | None, arguments: tuple[str, ...]) -> Scope:
    if commit is None:
        return Scope(is_all, tests=arguments)
    try:
        files = changed.changed_files(ROOT, "HEAD" if commit == LAST else commit)
        if not files and commit == LAST:
            files = changed.changed_files(ROOT, "HEAD~1")
    except changed.NoCommit as error:
        raise click.ClickException(f"No diff since {commit}: {error}") from None
    is_central = any(file in changed.EVERYTHING for file in files)
    tests = () if is_central else tuple(changed.related_tests(ROOT, files))
    present = tuple(file for file in files if (ROOT / file).exists())
    return Scope(is_all, present, (*tests, *arguments) if tests or is_central else ())


def split(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split the command line into names of steps and arguments for pytest.

    The arguments begin behind `tests`, or with the first option.
    """
    names: list[str] = []
    for n, word in enumerate(words):
        if word.startswith("-"):
            return tuple(names), words[n:]
        names.append(word)
        if word == TESTS:
            return tuple(names), words[n + 1 :]
    return tuple(names), ()


@click.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": ["-h", "--help"]},
    epilog="Steps: lint, format, types, contracts, fuzz, docs, tests. Other options go to pytest.",
)
@click.option("--all", "is_all", is_flag=True, help="Run all tests, including Spark and the browser.")
@click.option(
    "--changed", "commit", is_flag=False, flag_value=LAST, metavar="[COMMIT]",
    help="Check only files that changed since COMMIT. Default: the last commit.",
)  # fmt: skip
@click.argument("words", metavar="[STEP]... [PATH or pytest OPTION]...", nargs=-1, type=click.UNPROCESSED)
def main(is_all: bool, commit: str | None, words: tuple[str, ...]) -> None:
    """Check the tree: lint, format, types, import contracts, docs, and the quick tests.

    With STEPs, only the named steps run. A PATH after the step `tests` runs all tests in that file or folder.
    """
    os.chdir(ROOT)
    names, arguments = split(words)
    display = Display(Console())
    try:
        surroundings.require_room(ROOT)
    except surroundings.Unfit as error:
        raise click.ClickException(str(error)) from None
    memory = surroundings.available_memory()
    plan = chosen(steps(scope_of(is_all, commit, arguments), memory), names)
    if any(step.name == TESTS for step in plan):
        for need in surroundings.missing(is_all):
            display.line(str(need), "yellow")
    try:
        with Commands() as commands:
            has_passed = Check(display, commands).run(plan)
    except KeyboardInterrupt:
        display.line("interrupted", "bold red")
        sys.exit(128 + signal.SIGINT)
    if not is_all and any(step.name == TESTS for step in plan) and not arguments:
        display.line(NOT_RUN)
    sys.exit(not has_passed)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # SIGINT is ignored in background jobs
    main(prog_name="tools/check")
