"""The program with a database on the page of queues."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.mesh.running import LIMIT, running
from tests.pages import ROOT, blocks


@pytest.mark.slow
def test_the_program_with_a_database_runs(tmp_path: Path) -> None:
    (program,) = [
        each for each in blocks("py", [ROOT / "docs" / "queues.md"]) if "mesh.sync.outbox(" in each.text
    ]
    with running("heron") as node:
        assert node.mesh("tx", "init-db", f"sqlite:///{tmp_path}/shop.db").returncode == 0
        result = subprocess.run(
            [sys.executable, "-c", program.text],
            env={**node.environ, "PYTHONPATH": str(ROOT)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
    assert (result.returncode, result.stderr, result.stdout) == (0, "", "order 42 is done\n")
