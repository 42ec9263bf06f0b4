"""The thread of a node whose loop cannot start: it ends, and the error gives the reason."""

import asyncio
import errno
from typing import cast

import pytest

from mesh.config import Config
from mesh.embedded.nodethread import NodeThread


def none_left(*_: object) -> None:
    raise OSError(errno.EMFILE, "Too many open files")


def test_a_node_whose_loop_cannot_be_made_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asyncio.Runner, "get_loop", none_left)
    thread = NodeThread(cast(Config, None), {})
    thread.start()
    assert isinstance(thread.began.exception(60), OSError)
    assert thread.ended.result(60) is None
