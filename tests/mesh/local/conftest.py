"""A node with stores, and its backup."""

from pathlib import Path

import pytest

from tests.mesh.local.backups import made, node_with_stores


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return node_with_stores(tmp_path)


@pytest.fixture
def backup(data: Path, tmp_path: Path) -> Path:
    return made(data, tmp_path / "heron.backup")
