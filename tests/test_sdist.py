"""The source distribution: it holds all tracked files, and its tests run."""

import fnmatch
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.mesh.running import LIMIT
from tools.checking.changed import INSTALLED

ROOT = Path(__file__).parents[1]
BUILD = "import sys; from setuptools import build_meta; print(build_meta.build_sdist(sys.argv[1]))"
# These files are not tracked, but a user or a tool can have them in the tree.
UNTRACKED = [line.strip("/") for line in (ROOT / ".gitignore").read_text().split()] + [".git"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the tree without ignored files, since a build writes into its tree."""
    path = tmp_path_factory.mktemp("sdist") / "tree"
    shutil.copytree(ROOT, path, ignore=shutil.ignore_patterns(*UNTRACKED), symlinks=True)
    return path


@pytest.fixture(scope="module")
def unpacked(tree: Path) -> Path:
    """Return the unpacked source distribution, as a user has it."""
    output = tree.parent / "dist"
    output.mkdir()
    built = subprocess.run(
        [sys.executable, "-c", BUILD, output], cwd=tree, capture_output=True, text=True, timeout=4 * LIMIT
    )
    assert built.returncode == 0, built.stderr
    with tarfile.open(next(output.glob("*.tar.gz"))) as file:
        file.extractall(tree.parent / "unpacked", filter="data")
    return next((tree.parent / "unpacked").iterdir())


@pytest.mark.slow
def test_a_source_distribution_holds_all_that_it_takes_to_check_it(tree: Path, unpacked: Path) -> None:
    def files(top: Path) -> set[str]:
        names = {str(path.relative_to(top)) for path in top.rglob("*") if path.is_file()}
        return {name for name in names if not fnmatch.fnmatch(name, "heronry.egg-info/*")}

    assert sorted(files(tree) - files(unpacked)) == []
    copies = {
        f"{inside.replace('.', '/')}/{name.partition('/')[2]}"
        for name in files(tree)
        if (inside := INSTALLED.get(name.partition("/")[0])) and not name.endswith(".md")
    }
    assert files(unpacked) - files(tree) == {"PKG-INFO", *copies}


@pytest.mark.slow
def test_tests_of_a_source_distribution_run_there(unpacked: Path) -> None:
    tests = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/mesh/streams",
        "tests/test_docs.py",
    ]
    done = subprocess.run(
        [*tests, "-m", "not slow"], cwd=unpacked, capture_output=True, text=True, timeout=4 * LIMIT
    )
    assert done.returncode == 0, done.stdout[-2000:]
    where = subprocess.run(
        [sys.executable, "-c", "import mesh; print(mesh.__file__)"],
        cwd=unpacked,
        capture_output=True,
        text=True,
    )
    assert where.stdout.strip() == str(unpacked / "mesh" / "__init__.py")


@pytest.mark.slow
def test_the_page_of_the_package_is_the_readme(unpacked: Path) -> None:
    told = (unpacked / "PKG-INFO").read_text()
    head, _, page = told.partition("\n\n")
    assert "Description-Content-Type: text/markdown" in head
    assert page.strip() == (ROOT / "README.md").read_text().strip()
