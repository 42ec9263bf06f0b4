"""The steps of a check, as a table."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

PYTHON = sys.executable
SOURCES = ("mesh", "tests", "tools", "examples")  # mesh has links to the other packages
WORKER = 700 << 20  # bytes of memory per test worker, at most
TESTS = "tests"
BENCHMARKS = ("tools/benchmarks/", "tests/tools/benchmarks/")  # their types are checked in a check of all
FOR_CLIENTS = ("mesh/client/", "mesh/embedded/", "mesh/sync/")  # the page and mesh/sync are made from these


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a check, which is a line of the output.

    Its commands run one after the other, until one fails. With `is_background`, the first one starts before
    the other steps, and the rest run after them.
    """

    name: str
    about: str
    commands: tuple[tuple[str, ...], ...]
    is_background: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """The scope of a check: everything or the quick set; all sources or some `files` of a change."""

    is_all: bool = False
    files: tuple[str, ...] | None = None  # None: all
    tests: tuple[str, ...] = ()  # arguments for pytest


def workers(memory: int) -> int:
    """Return how many processes run the tests: one more than processors, because many tests wait.

    There are fewer if the bytes of `memory` do not suffice, but at least one.
    """
    return max(1, min((os.cpu_count() or 1) + 1, memory // WORKER))


def steps(scope: Scope, memory: int) -> list[Step]:
    """Return all steps of `scope`, in their order.

    Type checks take longest, so they run beside the others.
    """
    sources = [file for file in scope.files or () if file.endswith((".py", ".pyi"))]
    everything = scope.files is None
    fuzz = ("--seconds", "3" if scope.is_all else "0.5")
    ruff = (PYTHON, "-m", "ruff")
    plan = [
        Step("types", "mypy, and pyright for what users import", (
            (PYTHON, "-m", "mypy", *_unchecked(scope), *SOURCES), (PYTHON, "-m", "tools.typed_surface"),
        ), is_background=True),
        Step("lint", "ruff check", ((*ruff, "check", *sources),)),
        Step("format", "ruff format --check", ((*ruff, "format", "--check", *sources),)),
        Step("contracts", "which package may import which", (("lint-imports", "--no-logo"),)),
        Step("fuzz", "hostile input", (
            (PYTHON, "-m", "tools.fuzz_wire", *fuzz), (PYTHON, "-m", "tools.fuzz_inputs", *fuzz),
        )),
        Step("docs", "the site and its links, and what is made from code", (
            (PYTHON, "-m", "tools.make_site", "--check"), (PYTHON, "-m", "tools.client_page", "--check"),
            (PYTHON, "-m", "tools.generate_sync", "--check"),
        )),
        Step(TESTS, "pytest", (pytest_words(scope.is_all, scope.tests, memory),)),
    ]  # fmt: skip
    if everything:
        return plan
    return [step for step in plan if _is_touched(step.name, bool(sources), scope)]


def _unchecked(scope: Scope) -> tuple[str, ...]:
    """Return the option of mypy that leaves out the benchmarks, which are a program of their own."""
    if scope.is_all or any(file.startswith(BENCHMARKS) for file in scope.files or ()):
        return ()
    return ("--exclude", "^(tests/)?tools/benchmarks/")


def _is_touched(name: str, has_sources: bool, scope: Scope) -> bool:
    if name == "docs":
        return any(
            file.endswith(".md") or file.startswith(("docs/", *FOR_CLIENTS)) for file in scope.files or ()
        )
    if name == "fuzz":
        return any(file.startswith(("mesh/", "discovery/")) for file in scope.files or ())
    return bool(scope.tests) if name == TESTS else has_sources


def pytest_words(is_all: bool, arguments: Sequence[str], memory: int) -> tuple[str, ...]:
    """Return the command that runs the tests.

    These are the tests that `arguments` name by a path, all tests, or the quick set.
    """
    names_path = any(os.path.exists(word.partition("::")[0]) for word in arguments)
    whole = (TESTS,) if is_all and not names_path else ()
    plugin = ("-p", "tools.checking.progress", "-q", "--no-header")
    return (PYTHON, "-m", "pytest", *plugin, "--workers", str(workers(memory)), *arguments, *whole)
