"""A disk that is full for some rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from mesh.errors import StoreFull
from mesh.kernel.context.disk import Disk
from mesh.operations import Op, Put


class FullDisk:
    """The disks of all nodes, which store no row whose key begins with `prefix` while `is_full`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, prefix: bytes, is_full: bool = False) -> None:
        self.is_full = is_full
        commit = Disk.commit

        def refusing(disk: Disk, ops: Sequence[Op], then: Callable[[Any], None]) -> None:
            if self.is_full and any(isinstance(op, Put) and op.key.startswith(prefix) for op in ops):
                commit(disk, (), lambda _: then(StoreFull("The disk is full.")))
            else:
                commit(disk, ops, then)

        monkeypatch.setattr(Disk, "commit", refusing)
