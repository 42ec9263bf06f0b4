"""Subscriptions that resume: at a node that restarts meanwhile, and behind a relay of several masters."""

from __future__ import annotations

from tests.mesh.kernel.masters import RUGBY
from tests.mesh.kernel.several import several
from tests.simulated_client import SimClient
from tests.simulation import SimNetwork

MESSAGES = 1100  # more than the credit of a client


def test_a_restarted_node_resumes_the_rest_of_a_log_though_the_former_node_is_released() -> None:
    net = SimNetwork()
    a, b, d = net.mesh("a", "b", "d")
    joe = SimClient(net, a.ipc, "joe", others=[b.ipc, d.ipc]).connected()
    sub = joe.subscribed("k", initial=False, rate=0.0)
    ann = SimClient(net, d.ipc, "ann").connected()
    net.cut(joe.name, "a")
    for n in range(MESSAGES):
        ann.publish("k", b"%d" % n, persistent=True)
    ann.settled()
    joe.move(b.ipc)
    net.until(lambda: joe.is_up and joe.core.line.home == "b", 30.0)
    net.until(lambda: not joe.core.visits.is_moving, 90.0)
    assert 0 < len(sub.waiting) < MESSAGES
    b.restart()
    net.run(5)
    joe.use(sub)
    net.until(lambda: len(sub.contents) >= MESSAGES)
    assert sub.contents == [b"%d" % n for n in range(MESSAGES)]
    net.until(lambda: not d.metric("resume_pins") and not b.metric("visiting_sessions"))


def test_law_3_of_merging_a_session_behind_a_relay_gets_what_the_relay_had_passed() -> None:
    c = several("heron", "avalon", "frodo", "bilbo")
    joe, ann = c.roamer("avalon"), c.client("heron", "ann")
    sub = joe.subscribed("k", domain=RUGBY, initial=False)
    c["avalon"].kill()
    ann.publish("k", b"1", persistent=True, domain=RUGBY)
    c.net.run(1)
    for number, node in enumerate(("frodo", "bilbo"), 2):
        joe.move(c[node].ipc)
        c.net.until(lambda node=node: joe.is_up and joe.core.line.home == node, 30.0)  # type: ignore[misc]
        c.net.run(3)
        ann.publish("k", b"%d" % number, persistent=True, domain=RUGBY)
        c.net.until(lambda number=number: b"%d" % number in sub.contents, 30.0)  # type: ignore[misc]
    assert sub.contents == [b"2", b"3"]
    c.net.cut("avalon", "heron")  # bilbo resumes its log before it accepts the messages
    c["avalon"].start()
    c.net.until(lambda: not (c["bilbo"].metric("resuming") or joe.core.visits.is_moving), 60.0)
    c.net.heal()
    c.net.until(lambda: b"1" in sub.contents, 30.0)
    c.net.run(3)
    assert sub.contents == [b"2", b"3", b"1"], "each once"
