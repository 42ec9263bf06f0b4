"""Closes in a forked child the descriptors that belong to its parent."""

# Law 1: a forked child that runs no other program has copies of all descriptors of its parent. While it
#        lives, addresses stay in use, locks stay held, and peers do not notice the parent's death. Each owner
#        of such descriptors therefore registers here how its copies are closed.
# Law 2: the child closes descriptors and does nothing else. The parent's threads do not run in the child, so
#        nothing may wait for them, take a lock or send.

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")
_owners: WeakKeyDictionary[Any, Callable[[Any], object]] = WeakKeyDictionary()


def close_in_child(owner: T, close: Callable[[T], object]) -> None:
    """Call `close(owner)` in each child that is forked while the owner lives.

    `close` must not refer to the owner, which would then live forever.
    """
    _owners[owner] = close


def _forked() -> None:
    for owner, close in list(_owners.items()):
        with suppress(OSError):
            close(owner)


os.register_at_fork(after_in_child=_forked)
