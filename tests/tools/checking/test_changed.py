"""The files of a diff, and the tests that belong to them."""

import subprocess
from pathlib import Path

import pytest

from tools.checking.changed import NoCommit, changed_files, related_tests

FILES = {
    "mesh/queue.py": "",
    "mesh/links/table.py": "",
    "tests/steps.py": "from mesh import queue",
    "tests/mesh/test_queue.py": "",
    "tests/mesh/test_queue_order.py": "",
    "tests/mesh/test_other.py": "from tests.steps import step",
    "tests/mesh/test_far.py": "import mesh.links.table",
    "tests/mesh/links/test_table.py": "",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


def test_a_module_brings_its_mirror_and_the_tests_that_import_it_also_through_a_helper(tree: Path) -> None:
    assert related_tests(tree, ["mesh/queue.py"]) == [
        "tests/mesh/test_other.py",
        "tests/mesh/test_queue.py",
        "tests/mesh/test_queue_order.py",
    ]
    assert related_tests(tree, ["mesh/links/table.py"]) == [
        "tests/mesh/links/test_table.py",
        "tests/mesh/test_far.py",
    ]


def test_a_test_brings_itself_a_helper_its_users_and_a_page_or_deleted_test_nothing(tree: Path) -> None:
    assert related_tests(tree, ["tests/mesh/test_far.py"]) == ["tests/mesh/test_far.py"]
    assert related_tests(tree, ["tests/steps.py"]) == ["tests/mesh/test_other.py"]
    assert related_tests(tree, ["docs/client.md", "tests/mesh/test_gone.py"]) == []


def test_changed_files_are_those_of_the_diff_and_the_untracked_ones(tree: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a", *words], cwd=tree, check=True)

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "all: begin")
    assert changed_files(tree, "HEAD") == []
    (tree / "mesh" / "queue.py").write_text("x = 1\n")
    (tree / "new.py").write_text("")
    assert changed_files(tree, "HEAD") == ["mesh/queue.py", "new.py"]
    with pytest.raises(NoCommit, match="nowhere"):
        changed_files(tree, "nowhere")
