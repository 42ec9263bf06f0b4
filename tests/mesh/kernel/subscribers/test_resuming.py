"""Subscriptions whose visited node restarts before the client has the whole resumed log."""

from __future__ import annotations

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
