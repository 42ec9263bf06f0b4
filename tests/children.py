"""Children that are forked off and run no other program, for tests."""

import json
import os
import warnings
from collections.abc import Callable
from typing import Any


def in_a_child(look: Callable[[], Any]) -> Any:
    """Return what a function returns in a child of this process. It must be what JSON can hold."""
    ours, theirs = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: of forks beside threads
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
    """Return whether this process has that descriptor."""
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
