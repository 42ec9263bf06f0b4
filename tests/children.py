"""Forked child processes that run a function, for tests."""

import json
import os
import warnings
from collections.abc import Callable
from typing import Any


def in_a_child(look: Callable[[], Any]) -> Any:
    """Return the result of a function in a forked child. The result must be JSON-serializable."""
    ours, theirs = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks beside threads
        child = os.fork()
    if not child:
        try:
            os.write(theirs, json.dumps(look()).encode())
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as said:
        text = said.read()
    os.waitpid(child, 0)
    return json.loads(text)


def is_open(number: int) -> bool:
    """Return whether this process has that file descriptor."""
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
