"""Is this ZeroMQ one that may be trusted with strangers?"""

import zmq

from mesh.errors import LocalError

LOWEST = (4, 3, 5)  # older ones can be crashed, or made to write where they should not, by who is not in yet
HINT = "pip install --upgrade --force-reinstall --only-binary pyzmq 'pyzmq>=27'"


def check_library(version: tuple[int, ...], has_curve: bool) -> None:
    """LocalError (LIBZMQ) for one that is too old, or cannot encrypt."""
    told = ".".join(map(str, version))
    if version < LOWEST:
        needed = ".".join(map(str, LOWEST))
        why = f"pyzmq uses libzmq {told} here, and {needed} is the oldest whose known holes are closed."
    elif not has_curve:
        why = f"pyzmq uses a libzmq {told} here that was built without CURVE, and so cannot encrypt."
    else:
        return
    raise LocalError(why, hint=f"Take the one that pyzmq brings: {HINT}", code="LIBZMQ")


def check_ours() -> None:
    """That of this process."""
    check_library(zmq.zmq_version_info(), zmq.has("curve"))
