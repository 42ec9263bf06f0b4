"""The sink of a queue while the node waits for consumers from before its restart."""

from __future__ import annotations

from tests.mesh.features.queues.node.worker import Worker
from tests.simulation import SimNetwork


def test_messages_put_after_a_restart_do_not_wait_for_consumers_from_before_it() -> None:
    net = SimNetwork()
    (a,) = net.mesh("a")
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs")
    joe.take("jobs")
    boss.put("jobs", b"old")
    net.until(lambda: joe.contents() == [b"old"])
    a.kill()
    a.restart()  # joe does not return
    ben, ann = Worker(a, "ben"), Worker(a, "ann")
    ann.take("jobs")
    ben.put("jobs", b"new")
    net.until(lambda: ann.contents() == [b"new"], 1.0)
    net.until(lambda: len(ann.contents()) == 2)
    assert (ann.contents(), ann.tries[1]) == ([b"new", b"old"], [0, 1])
