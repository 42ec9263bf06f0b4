"""Closes in a forked child what only its parent shall have open."""

# Law 1: a child that is forked off and runs no other program has copies of all descriptors of its parent.
#        While it lives, addresses stay in use, locks stay held, and others do not notice that the parent has
#        died. So each owner of such descriptors registers here how its copies are closed.
# Law 2: in the child descriptors are closed, and nothing else happens. The threads of the parent do not run
#        there, so nothing may wait for them, take a lock or send anything.

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")
_owners: WeakKeyDictionary[Any, Callable[[Any], object]] = WeakKeyDictionary()


def close_in_child(owner: T, close: Callable[[T], object]) -> None:
    """Have `close(owner)` called in each child that is forked off while the owner lives.

    `close` must not refer to the owner, which would live for ever.
    """
    _owners[owner] = close


def _forked() -> None:
    for owner, close in list(_owners.items()):
        with suppress(OSError):
            close(owner)


os.register_at_fork(after_in_child=_forked)
