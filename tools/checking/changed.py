"""The checks that a change needs: the files of a diff, and the tests that belong to them."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

PACKAGES = ("mesh", "discovery", "balancers", "spark", "tools")
# The packages inside mesh that have folders of their own, with the names under which they are installed.
INSTALLED = {"discovery": "mesh.discovery", "balancers": "mesh.balancers", "spark": "mesh.history"}
EVERYTHING = ("tests/conftest.py", "pyproject.toml", "setup.cfg")  # changes of these run the quick set


class NoCommit(Exception):
    """Git failed, usually because it does not know the commit."""


def changed_files(root: Path, commit: str) -> list[str]:
    """Return the paths that differ from `commit`, untracked ones included. Raises: NoCommit."""
    differing = _git(root, "diff", "--name-only", commit, "--")
    untracked = _git(root, "ls-files", "--others", "--exclude-standard")
    return sorted({*differing, *untracked})


def _git(root: Path, *words: str) -> list[str]:
    result = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
    if result.returncode:
        raise NoCommit(result.stderr.strip() or "git failed")
    return result.stdout.splitlines()


def related_tests(root: Path, files: Iterable[str]) -> list[str]:
    """Return the test files that `files` affect.

    These are the changed test files, the tests that mirror a changed module, and the tests that import one,
    directly or through a helper in `tests`.
    """
    files = list(files)
    sources = {file for file in files if file.endswith(".py")}
    found = set[str]()
    for file in sources - {file for file in sources if file.startswith("tests/")}:
        found.update(mirrors(root, file))
    importers = _importers(root)
    waiting, seen = [module_of(file) for file in sources], set[str]()
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        seen.add(module)
        path = PurePosixPath(module.replace(".", "/") + ".py")
        if path.name.startswith("test_") and (root / path).exists():
            found.add(path.as_posix())
        waiting += importers.get(module, ())
    return sorted(found)


def mirrors(root: Path, file: str) -> Iterator[str]:
    """Yield the test files of a module: `test_<module>.py` and `test_<module>_<aspect>.py` in its mirror."""
    path = PurePosixPath(file)
    if path.parts[0] in PACKAGES:
        folder = root / "tests" / path.parent
        for name in (f"test_{path.stem}.py", f"test_{path.stem}_*.py"):
            yield from (found.relative_to(root).as_posix() for found in folder.glob(name))


def module_of(file: str) -> str:
    """Return the name by which a module is imported."""
    folder, _, rest = file.removesuffix(".py").removesuffix("/__init__").partition("/")
    return f"{INSTALLED.get(folder, folder)}/{rest}".strip("/").replace("/", ".")


def _importers(root: Path) -> dict[str, set[str]]:
    """Return, for each module, the modules of `tests` that import it."""
    importers: dict[str, set[str]] = {}
    for file in (root / "tests").rglob("*.py"):
        module = module_of(file.relative_to(root).as_posix())
        for imported in _imports(ast.parse(file.read_text())):
            importers.setdefault(imported, set()).add(module)
    return importers


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
