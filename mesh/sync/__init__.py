"""The blocking client: `with mesh.sync.connect() as m: m.publish("topic", b"…")`.

Its calls are those of `mesh.Client`, with the same arguments and errors. A receipt has `result`, and
most iterators have calls with a `timeout`, such as `next_message`. Each client keeps its session alive in a
thread of its own, and may be called from several threads.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mesh.sync.client import Client, connect
from mesh.sync.consumer import Consumer
from mesh.sync.deliveries import Deliveries
from mesh.sync.delivery import Delivery
from mesh.sync.posts import Receipt
from mesh.sync.queue import Queue
from mesh.sync.request import Request
from mesh.sync.services import Gathering, Registrations, Service
from mesh.sync.subscription import Subscription

if TYPE_CHECKING:
    from mesh.sync.databases import OutboxSender, outbox, transaction
    from mesh.sync.embedded import node

__all__ = [
    "Client",
    "Consumer",
    "Deliveries",
    "Delivery",
    "Gathering",
    "OutboxSender",
    "Queue",
    "Receipt",
    "Registrations",
    "Request",
    "Service",
    "Subscription",
    "connect",
    "node",
    "outbox",
    "transaction",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name in ("OutboxSender", "outbox", "transaction"):
        return getattr(import_module("mesh.sync.databases"), name)
    # Imported on first use, because it imports the whole node.
    if name == "node":
        from mesh.sync.embedded import node

        return node
    raise AttributeError(f"module 'mesh.sync' has no attribute {name!r}")
