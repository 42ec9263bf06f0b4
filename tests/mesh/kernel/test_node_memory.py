"""A node forgets what it has finished, on simulated nodes, for all routes of messages."""

import gc
from collections.abc import Callable

import pytest

from mesh.wire.envelope import Envelope
from tests.mesh.kernel.masters import RUGBY, cluster
from tests.seeds import scenarios
from tests.simulated_client import SimClient

SOME, MANY = 60, 200  # envelopes
AT_ONCE = 20
KEPT = 80  # recent ones: retained values without a reader


def kept() -> int:
    gc.collect()
    return sum(isinstance(thing, Envelope) for thing in gc.get_objects())


def send(joe: SimClient, node: str, number: int) -> None:
    joe.send(f"/node/{node}/client/ann", b"%d" % number)


def publish(joe: SimClient, node: str, number: int) -> None:
    joe.publish("k", b"%d" % number, domain=RUGBY)


def store(joe: SimClient, node: str, number: int) -> None:
    joe.publish("k", b"%d" % number, domain=RUGBY, persistent=True)


Case = tuple[str, str, Callable[[SimClient, str, int], None]]
WAYS = [("heron", "heron"), ("frodo", "heron"), ("bilbo", "heron")]
CASES: list[Case] = [
    *((*way, say) for way in WAYS for say in (publish, store, send)),
    ("heron", "bilbo", publish),
]


@pytest.mark.parametrize("case", scenarios(reversed(CASES)))
def test_a_node_keeps_no_envelope_that_has_had_its_last_word(case: Case) -> None:
    """Each publisher is at another distance from the master. In the last case the subscriber is."""
    where, reading, say = case
    c = cluster("heron", "frodo", "bilbo")
    joe, ann = c.client(where), c.client(reading, "ann")
    heard = ann.inbox() if say is send else ann.subscribed("k", domain=RUGBY)

    def after(count: int) -> int:
        for number in range(len(heard.got), count):
            say(joe, reading, number)
            if number % AT_ONCE == 0:
                joe.settled()
        joe.settled()
        c.net.until(lambda: len(heard.got) == count)
        c.net.run(5)  # all nodes have the answer
        return kept()

    before = after(SOME)
    assert after(MANY) < before + KEPT


def test_something_that_waits_long_keeps_nothing_else_here() -> None:
    c = cluster("heron", "frodo", "bilbo")
    joe, ann = c.client("bilbo"), c.client("heron", "ann")
    joe.send("/node/gone/client/joe", b"waits", force=True)
    heard = ann.subscribed("k", domain=RUGBY)
    before = kept()
    for number in range(MANY):
        publish(joe, "heron", number)
    c.net.until(lambda: len(heard.got) == MANY)
    joe.settled()
    c.net.run(5)
    assert c["bilbo"].core.parts.forwarder.onward.messages == 1
    assert kept() < before + KEPT
