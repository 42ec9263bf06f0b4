"""The client for code without an event loop: `with mesh.sync.connect() as m: m.publish("topic", b"…")`.

The names of `mesh.connect`, with the same arguments, results and errors. Each client keeps itself alive
in one thread of its own, while yours works or waits; it may be called from several threads.
"""

from mesh.sync.client import Client, connect
from mesh.sync.posts import Receipt
from mesh.sync.subscription import Subscription

__all__ = ["Client", "Receipt", "Subscription", "connect"]


def __dir__() -> list[str]:
    return __all__
