"""A brokerless message mesh: `async with mesh.connect() as m: await m.publish("topic", b"…")`.

Names are imported on first use, so that `mesh --help` does not import ZeroMQ.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mesh import errors, sync, testing
    from mesh.client.batch import Batch
    from mesh.client.client import Client, Event, connect
    from mesh.client.codecs import Codec
    from mesh.client.message import Message
    from mesh.client.receipt import Receipt
    from mesh.client.registrations import Registration, Registrations
    from mesh.client.sending import Sent
    from mesh.client.subscription import Subscription
    from mesh.client.views import Place, Views
    from mesh.embedded.client import node
    from mesh.errors import (
        BadArgument,
        BadConfig,
        BadContent,
        BadKey,
        BadName,
        BadPattern,
        BadQuery,
        BadSelector,
        BadType,
        BadXml,
        BadXPath,
        BindRefused,
        CircularLoop,
        Closed,
        CoreFailed,
        DataDirRefused,
        Expired,
        HandlerLost,
        InDoubt,
        KeysRefused,
        LeaseOver,
        LocalError,
        MasterAway,
        MeshError,
        MeshTimeout,
        MessageTooLarge,
        NodeInUse,
        NodeNotFound,
        NoHandlers,
        NoQueue,
        NotAvailable,
        NotConnected,
        PublishRefused,
        QueueExists,
        QueueFull,
        QueueInUse,
        Refused,
        RemoteError,
        RequestFailed,
        SiteFull,
        SiteUnreachable,
        SlowConsumer,
        StaleSequence,
        StoreError,
        StoreFull,
        TailBackFull,
        TransactionRefused,
        UnknownName,
        UnknownNode,
        WouldBlock,
        WrongLoop,
    )
    from mesh.features.queues.client.consumer import Consumer
    from mesh.features.queues.client.delivery import Deliveries, Delivery, QueuedMessage
    from mesh.features.queues.client.queue import Queue
    from mesh.features.services.client.gathering import GatheredMessage, Gathering
    from mesh.features.services.client.request import Request
    from mesh.features.services.client.service import Service
    from mesh.features.spaces.client.counter import Counter
    from mesh.features.spaces.client.entry import Entry
    from mesh.features.spaces.client.lock import Leader, Lock
    from mesh.features.spaces.client.map import Map
    from mesh.features.spaces.client.space import MoveReport
    from mesh.features.spaces.client.tally import Tally, TallyValue
    from mesh.features.spaces.client.watch import Change, Watch
    from mesh.features.transactions.client.database.inbox import DatabaseInbox
    from mesh.features.transactions.client.database.outbox import OutboxSender, outbox
    from mesh.features.transactions.client.database.writing import transaction
    from mesh.features.transactions.client.prepared import Prepared
    from mesh.features.transactions.client.transaction import Transaction
    from mesh.values import Headers, Published
    from mesh.wire.replies import Info, NodeRow, QueueRow, Reason, Sighting, SiteRow

__version__ = "0.1.0"

_HOMES = {
    "Batch": "mesh.client.batch",
    "Change": "mesh.features.spaces.client.watch",
    "Client": "mesh.client.client",
    "Codec": "mesh.client.codecs",
    "Consumer": "mesh.features.queues.client.consumer",
    "Counter": "mesh.features.spaces.client.counter",
    "DatabaseInbox": "mesh.features.transactions.client.database.inbox",
    "Deliveries": "mesh.features.queues.client.delivery",
    "Delivery": "mesh.features.queues.client.delivery",
    "Entry": "mesh.features.spaces.client.entry",
    "Event": "mesh.client.client",
    "GatheredMessage": "mesh.features.services.client.gathering",
    "Gathering": "mesh.features.services.client.gathering",
    "Headers": "mesh.values",
    "Info": "mesh.wire.replies",
    "Leader": "mesh.features.spaces.client.lock",
    "Lock": "mesh.features.spaces.client.lock",
    "Map": "mesh.features.spaces.client.map",
    "Message": "mesh.client.message",
    "MoveReport": "mesh.features.spaces.client.space",
    "NodeRow": "mesh.wire.replies",
    "OutboxSender": "mesh.features.transactions.client.database.outbox",
    "Place": "mesh.client.views",
    "Prepared": "mesh.features.transactions.client.prepared",
    "Published": "mesh.values",
    "Queue": "mesh.features.queues.client.queue",
    "QueueRow": "mesh.wire.replies",
    "QueuedMessage": "mesh.features.queues.client.delivery",
    "Reason": "mesh.wire.replies",
    "Receipt": "mesh.client.receipt",
    "Registration": "mesh.client.registrations",
    "Registrations": "mesh.client.registrations",
    "Request": "mesh.features.services.client.request",
    "Sent": "mesh.client.sending",
    "Service": "mesh.features.services.client.service",
    "Sighting": "mesh.wire.replies",
    "SiteRow": "mesh.wire.replies",
    "Subscription": "mesh.client.subscription",
    "Tally": "mesh.features.spaces.client.tally",
    "TallyValue": "mesh.features.spaces.client.tally",
    "Transaction": "mesh.features.transactions.client.transaction",
    "Views": "mesh.client.views",
    "Watch": "mesh.features.spaces.client.watch",
    "connect": "mesh.client.client",
    "node": "mesh.embedded.client",
    "outbox": "mesh.features.transactions.client.database.outbox",
    "transaction": "mesh.features.transactions.client.database.writing",
}

__all__ = [
    "BadArgument",
    "BadConfig",
    "BadContent",
    "BadKey",
    "BadName",
    "BadPattern",
    "BadQuery",
    "BadSelector",
    "BadType",
    "BadXPath",
    "BadXml",
    "Batch",
    "BindRefused",
    "Change",
    "CircularLoop",
    "Client",
    "Closed",
    "Codec",
    "Consumer",
    "CoreFailed",
    "Counter",
    "DataDirRefused",
    "DatabaseInbox",
    "Deliveries",
    "Delivery",
    "Entry",
    "Event",
    "Expired",
    "GatheredMessage",
    "Gathering",
    "HandlerLost",
    "Headers",
    "InDoubt",
    "Info",
    "KeysRefused",
    "Leader",
    "LeaseOver",
    "LocalError",
    "Lock",
    "Map",
    "MasterAway",
    "MeshError",
    "MeshTimeout",
    "Message",
    "MessageTooLarge",
    "MoveReport",
    "NoHandlers",
    "NoQueue",
    "NodeInUse",
    "NodeNotFound",
    "NodeRow",
    "NotAvailable",
    "NotConnected",
    "OutboxSender",
    "Place",
    "Prepared",
    "PublishRefused",
    "Published",
    "Queue",
    "QueueExists",
    "QueueFull",
    "QueueInUse",
    "QueueRow",
    "QueuedMessage",
    "Reason",
    "Receipt",
    "Refused",
    "Registration",
    "Registrations",
    "RemoteError",
    "Request",
    "RequestFailed",
    "Sent",
    "Service",
    "Sighting",
    "SiteFull",
    "SiteRow",
    "SiteUnreachable",
    "SlowConsumer",
    "StaleSequence",
    "StoreError",
    "StoreFull",
    "Subscription",
    "TailBackFull",
    "Tally",
    "TallyValue",
    "Transaction",
    "TransactionRefused",
    "UnknownName",
    "UnknownNode",
    "Views",
    "Watch",
    "WouldBlock",
    "WrongLoop",
    "connect",
    "errors",
    "node",
    "outbox",
    "sync",
    "testing",
    "transaction",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    if name in ("errors", "sync", "testing"):
        return import_module(f"mesh.{name}")
    home = _HOMES.get(name, "mesh.errors" if name in __all__ else "")
    if not home:
        raise AttributeError(f"module 'mesh' has no attribute {name!r}")
    return getattr(import_module(home), name)
