"""The generated classes of mesh.sync, with their sources."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tools.sync_parts.sources import class_of, source

CLIENT = "mesh.client.client:Client"
TRANSACTIONS = "mesh.features.transactions.client.transaction"


class Generated(NamedTuple):
    """A class with the public methods of an async one, its twin.

    Where the hand-written class `by_hand` has a method, the generated one calls it, as `super()`. An item is
    a subclass of its twin.
    """

    twin: str  # MODULE:CLASS
    by_hand: str  # MODULE:CLASS
    bases: str
    doc: str = ""  # default: the docstring of the hand-written class
    is_item: bool = False
    opener: str = ""  # the function that creates it, beside the twin

    @property
    def name(self) -> str:
        return self.twin.partition(":")[2]

    @property
    def module(self) -> str:
        return self.twin.partition(":")[0]


class GeneratedModule(NamedTuple):
    """A module of mesh.sync."""

    doc: str
    classes: Sequence[Generated]


def _by_hand(twin: str, by_hand: str, is_generic: bool = True, *, is_item: bool = False) -> Generated:
    base = by_hand.partition(":")[2] + ("[T]" if is_generic else "")
    return Generated(twin, f"mesh.sync.{by_hand}", base, is_item=is_item)


def _feature(twin: str) -> Generated:
    doc = ast.get_docstring(class_of(twin)) or ""
    return Generated(twin, "mesh.sync.session:ThreadClient", "Connected", doc)


def features() -> Mapping[str, str]:
    """Return the async classes with the calls of features, MODULE:CLASS by name, as Client lists them."""
    client = source(CLIENT.partition(":")[0])
    names = [ast.unparse(base) for base in class_of(CLIENT).bases]
    return {name: f"{client.homes[name].split()[1]}:{name}" for name in names}


def _module_name(name: str) -> str:
    """Return the module of mesh.sync for a class, wherever the twin lives: `retained_values`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def modules() -> Mapping[str, GeneratedModule]:
    """Return the generated modules of mesh.sync by name."""
    by_name = dict(features())
    queueing, spacing = by_name.pop("Queueing"), by_name.pop("Spacing")
    transacting = by_name.pop("Transacting")
    found = {_module_name(name): _feature(twin) for name, twin in by_name.items()}
    bases = ", ".join(features())
    putting = _feature("mesh.features.queues.client.putting:Putting")._replace(
        by_hand="mesh.sync.queueing:ThreadQueue", bases="ThreadQueue"
    )
    queue = Generated("mesh.features.queues.client.queue:Queue", "mesh.sync.queueing:ThreadQueue", "Putting")
    spaces = "mesh.features.spaces.client"
    connected = _feature("mesh.client.connected:Connected")._replace(
        bases="ThreadClient", doc="A session at a node."
    )
    embedded = "A blocking client with a node of its own in this process, created by `mesh.sync.node`."
    return {
        "delivery": GeneratedModule("Deliveries of a queue, settled without an event loop.", [
            _by_hand("mesh.features.queues.client.delivery:Delivery", "items:ThreadDelivery", is_item=True),
        ]),
        "request": GeneratedModule("Requests as a service without an event loop gets them.", [
            _by_hand("mesh.features.services.client.request:Request", "items:ThreadRequest", is_item=True),
        ]),
        "consumer": GeneratedModule("The consumer of a queue: `with q.consume() as jobs: for job in jobs`.", [
            _by_hand("mesh.features.queues.client.consumer:Consumer", "iterators:ThreadConsumer"),
        ]),
        "transacting": GeneratedModule("Transactions without an event loop.", [
            _by_hand(f"{TRANSACTIONS}:Transaction", "transactions:ThreadTransaction", False),
            _feature(transacting),
        ]),
        "services": GeneratedModule("Services, gathered replies and registrations without an event loop.", [
            _by_hand("mesh.features.services.client.service:Service", "iterators:ThreadService"),
            _by_hand("mesh.features.services.client.gathering:Gathering", "iterators:ThreadGathering"),
            _by_hand("mesh.client.registrations:Registrations", "iterators:ThreadRegistrations", False),
        ]),
        "connected": GeneratedModule("The calls that each blocking client has.", [connected]),
        "putting": GeneratedModule("The half of a queue that puts messages into it.", [putting]),
        "queue": GeneratedModule("Queues without an event loop.", [queue, _feature(queueing)]),
        "maps": GeneratedModule("Maps, counters, locks and tallies without an event loop.", [
            Generated(f"{spaces}.map:Map", "mesh.sync.spaces:ThreadMap", "ThreadMap[T]"),
            Generated(f"{spaces}.counter:Counter", "mesh.sync.spaces:ThreadCounter", "ThreadCounter"),
            _by_hand(f"{spaces}.lock:Lock", "spaces:ThreadLock", False),
            Generated(f"{spaces}.tally:Tally", "mesh.sync.spaces:ThreadTally", "ThreadTally"),
            _by_hand(f"{spaces}.watch:Watch", "spaces:ThreadWatch"),
            _feature(spacing),
        ]),
        **{name: GeneratedModule(source(it.module).doc, [it]) for name, it in found.items()},
        "client": GeneratedModule("The blocking client: `with mesh.sync.connect() as m`.", [
            Generated(CLIENT, "mesh.sync.session:ThreadClient", bases, opener="connect"),
        ]),
        "embedded": GeneratedModule("The blocking client with a node in its own process.", [
            Generated("mesh.embedded.client:NodeClient", "mesh.sync.session:ThreadClient", "Client", embedded,
                      opener="node"),
        ]),
    }  # fmt: skip


def homes() -> Mapping[str, str]:
    """Return the modules of names that generated code uses and no async module imports."""
    made = {it.name: f"mesh.sync.{name}" for name, module in modules().items() for it in module.classes}
    bases = {each.by_hand.partition(":") for module in modules().values() for each in module.classes}
    return {
        **{name: module for module, _, name in bases},
        **made,
        "Deliveries": "mesh.sync.deliveries",
        "Receipt": "mesh.sync.posts",
        "Subscription": "mesh.sync.subscription",
        "T": "mesh.client.message",
        **dict.fromkeys(("Iterator", "Callable", "Coroutine"), "collections.abc"),
        "Any": "typing",
        "contextmanager": "contextlib",
    }
