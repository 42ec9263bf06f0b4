"""A message that several nodes forward to this one: each of them receives the final answer."""

from typing import Any

import pytest
from msgspec.structs import replace

from mesh.kernel.forwarding.from_peer import FromPeer
from mesh.mapping.rules import Rule
from mesh.routing.pending_forward import PendingForward
from tests.mesh.kernel.masters import RUGBY, Cluster, cluster
from tests.simulated_client import SimClient
from tests.simulation import SimNetwork

# avalon -> stork or frodo -> heron -> golan, the master.
RULES = {
    "golan": (Rule("golan", domains=(RUGBY,)),),
    "heron": (Rule("golan", domains=(RUGBY,)),),
    "frodo": (Rule("heron", 1, (RUGBY,)),),
    "stork": (Rule("heron", 1, (RUGBY,)),),
    "avalon": (Rule("stork", 2, (RUGBY,)), Rule("frodo", 2, (RUGBY,))),
}


def tailed_back(c: Cluster) -> dict[str, int]:
    """Return the number of waiting messages of each node that runs."""
    return {name: c[name].metric("tailed_back") for name in RULES if c[name].is_up}


def carried_by_two(gone: tuple[str, ...] = (), **settings: Any) -> tuple[Cluster, SimClient]:
    """Return a mesh in which a message of joe waits at heron for golan, brought by frodo and by stork.

    joe is at avalon. Several seeds are tried until avalon chooses stork, too. Nodes in `gone` are killed in
    between.
    """
    for seed in (3, *range(40)):  # most tests use the first seed
        c = cluster(*RULES, net=SimNetwork(seed), rules=RULES, known=tuple(RULES), **settings)
        joe = c.client("avalon")
        for name in ("golan", "stork"):
            c[name].kill()
        c.net.run(15)
        joe.publish("k", b"1", domain=RUGBY)
        c.net.until(lambda c=c: tailed_back(c) == {"heron": 1, "frodo": 1, "avalon": 1})  # type: ignore[misc]
        for name in gone:
            c[name].kill()
        c.net.run(15)
        c["stork"].start()
        c.net.run(10)
        if tailed_back(c)["stork"] == 1:
            return c, joe
    raise AssertionError("avalon never chose stork")


def bring(c: Cluster, node: str, entry: PendingForward, by: str) -> None:
    """Let `by` forward an entry of a node again, as a message of its own client."""
    parts, other = c[node].core.parts, c[by].core.parts.context
    e = replace(entry.envelope, sender=f"/node/{by}/client/eve/session/1", route=(other.hop(0),))
    parts.forwarder.incoming.forwarded(parts.neighbours.peers[c[by].uuid], [e])


def test_all_who_have_brought_a_message_hear_its_last_word() -> None:
    # A message without a final answer stays in flight forever, and occupies its place in a window.
    c, joe = carried_by_two(window_count=1)
    c["golan"].start()
    c.net.until(lambda: joe.state(1, RUGBY) == "OK")
    c.net.run(1)
    assert set(tailed_back(c).values()) == {0}
    assert c["golan"].metric("published") == 1
    c["stork"].kill()
    c.net.run(15)
    joe.publish("k", b"2", domain=RUGBY)
    c.net.until(lambda: joe.state(2, RUGBY) == "OK")


def test_who_is_gone_when_another_brings_a_message_is_not_remembered() -> None:
    c, _ = carried_by_two(gone=("frodo",))
    forwarder = c["heron"].core.parts.forwarder
    (entry,) = forwarder.onward.entries()
    assert entry.askers == (FromPeer(forwarder.shipping, c["stork"].uuid),)


@pytest.mark.slow
def test_all_who_have_brought_a_message_hear_that_it_is_refused() -> None:
    c, joe = carried_by_two(tailback_ttl=60.0)
    c.net.until(lambda: joe.state(1, RUGBY) == "EXPIRED", 120)
    c.net.run(5)
    assert set(tailed_back(c).values()) == {0}


@pytest.mark.parametrize("state", ["OK", "EXPIRED"])
def test_the_first_node_of_a_publisher_keeps_no_longer_what_has_its_last_word(state: str) -> None:
    c = cluster("heron", "frodo", "bilbo", tailback_ttl=60.0)
    joe = c.roamer("bilbo")
    c["heron"].kill()
    c.net.run(15)
    joe.publish("k", b"1", persistent=True, domain=RUGBY)
    c.net.until(lambda: c["frodo"].metric("tailed_back") == 1)
    joe.move(c["frodo"].ipc)
    c.net.until(lambda: c["frodo"].metric("stored_envelopes") == 1)
    if state == "OK":
        c["heron"].start()
    c.net.until(lambda: joe.state(1, RUGBY) == state)
    c.net.run(1)
    assert c["bilbo"].metric("tailed_back") == c["bilbo"].metric("stored_envelopes") == 0


def test_what_was_said_of_a_part_and_is_lost_is_said_again_though_the_rest_waits() -> None:
    masters = (Rule("heron", keys=("mine",)), Rule("golan", keys=("yours",)))
    rules = {**RULES, "heron": masters, "golan": masters, "bilbo": (Rule("frodo", 2, (RUGBY,)),)}
    names = ("heron", "golan", "frodo", "bilbo")
    c = cluster(*names, rules=rules, known=names)
    joe = c.client("bilbo")
    c["golan"].kill()
    c.net.run(15)
    joe.publish("mine yours mine", b"1", b"2", b"3", domain=RUGBY)
    c.net.until(lambda: c["frodo"].metric("tailed_back") == 1)
    c.net.break_all("bilbo", "frodo")  # with the answers for 1 and 3
    c.net.until(lambda: joe.state(1, RUGBY) == joe.state(3, RUGBY) == "OK")
    assert c["bilbo"].metric("tailed_back") == 1
    (entry,) = c["frodo"].core.parts.forwarder.onward.entries()
    bring(c, "frodo", entry, "heron")
    c.net.run(1)
    assert c["heron"].metric("unasked") == 2, "it hears of 1 and 3, of which it knows nothing"
    c["golan"].start()
    c.net.until(lambda: joe.state(2, RUGBY) == "OK")
    assert c["bilbo"].metric("tailed_back") == 0


def test_a_peer_that_brings_what_a_client_here_has_published_does_not_take_its_answers() -> None:
    # The nodes that forward a stream know its name.
    c = cluster("heron", "frodo", "bilbo")
    joe, onward = c.client("bilbo"), c["bilbo"].core.parts.forwarder.onward
    c["heron"].kill()
    joe.publish("k", b"1", domain=RUGBY)
    c.net.until(lambda: onward.messages == 1)
    (entry,) = onward.entries()
    bring(c, "bilbo", entry, "frodo")
    frodo = FromPeer(c["bilbo"].core.parts.forwarder.shipping, c["frodo"].uuid)
    assert entry.origin == frodo and not entry.warned
    c.net.until(lambda: joe.state(1, RUGBY) == "FORWARD_WARNING")
    c["heron"].start()
    c.net.until(lambda: joe.state(1, RUGBY) == "OK")


def test_a_publisher_that_comes_again_hears_again_that_its_message_waits() -> None:
    c = cluster("heron", "frodo", "bilbo")
    joe, onward = c.client("bilbo"), c["bilbo"].core.parts.forwarder.onward
    c["heron"].kill()
    c.net.run(15)
    joe.publish("k", b"1", domain=RUGBY)
    c.net.until(lambda: any(entry.warned for entry in onward.entries()))
    assert not joe.answers
    c.net.break_all(joe.name)
    c.net.until(lambda: joe.state(1, RUGBY) == "FORWARD_WARNING")
