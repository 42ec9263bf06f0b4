"""A durable subscription has also what a backup takes while the master is away. On simulated nodes."""

from __future__ import annotations

from mesh.wire.envelope import PERSISTENT
from tests.mesh.core.backed import HOLDERS, backed
from tests.mesh.core.masters import RUGBY
from tests.mesh.core.queues.reader import Reader, knows, waiting


def test_a_durable_subscription_has_each_message_once_whoever_took_it() -> None:
    c = backed(*HOLDERS, "bilbo")
    boss = Reader(c["bilbo"], "boss")
    boss.ok(boss.durable("audit", ("pattern", "#", RUGBY)))
    c.net.until(lambda: all(knows(node) for node in c.nodes.values()))
    joe = Reader(c["bilbo"], "joe")
    joe.posts(b"1", b"2", keys=("k",), domain=RUGBY, flags=PERSISTENT)
    c.net.until(lambda: joe.state(2, RUGBY) == "OK")
    c["heron"].kill()
    c.net.run(15)
    joe.posts(b"3", b"4", b"5", keys=("k",), domain=RUGBY, flags=PERSISTENT)
    c.net.until(lambda: joe.state(5, RUGBY) == "OK")
    assert waiting(*(node for node in c.nodes.values() if node.is_up)) == {"frodo": 3}
    c["heron"].start()
    c.met()
    c.net.run(5)
    assert waiting(*c.nodes.values()) == {"heron": 2, "frodo": 3}, "nothing is there twice"
