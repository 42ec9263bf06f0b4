"""Checks that the ZeroMQ library has no known vulnerabilities and supports encryption."""

import zmq

from mesh.errors import LocalError

# Older versions can be crashed, or made to write out of bounds, by unauthenticated peers.
LOWEST = (4, 3, 5)
HINT = "pip install --upgrade --force-reinstall --only-binary pyzmq 'pyzmq>=27'"


def check_library(version: tuple[int, ...], has_curve: bool) -> None:
    """Check a version of the library. Raises: LocalError (LIBZMQ), if it is too old or cannot encrypt."""
    told = ".".join(map(str, version))
    if version < LOWEST:
        needed = ".".join(map(str, LOWEST))
        why = f"pyzmq uses libzmq {told}, but the oldest version without known vulnerabilities is {needed}."
    elif not has_curve:
        why = f"pyzmq uses a libzmq {told} without CURVE, which cannot encrypt."
    else:
        return
    raise LocalError(why, hint=f"Use the libzmq that pyzmq includes: {HINT}", code="LIBZMQ")


def check_ours() -> None:
    check_library(zmq.zmq_version_info(), zmq.has("curve"))
