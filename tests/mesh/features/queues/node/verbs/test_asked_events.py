"""Events of purged and removed queues, with the key of the client."""

from mesh.kernel.context.conn import Conn
from tests.mesh.features.queues.node.worker import Worker
from tests.simulation import SimNetwork, SimNode

KEY = "K" * 40


def events(node: SimNode, kind: str) -> list[str]:
    found = node.core.parts.context.events.events_after(0)[0]
    return [event.text for event in found if event.kind == kind]


def keyed(node: SimNode) -> Worker:
    """Return a client whose key counts as verified by ZeroMQ."""
    eve = Worker(node, "eve")
    conns: dict[object, Conn] = node.core._conns
    for conn in conns.values():
        conn.user = KEY
    return eve


def test_an_event_says_by_whose_key_a_queue_was_emptied_and_removed() -> None:
    net = SimNetwork()
    node = net.node("a")
    eve = keyed(node)
    eve.declare("jobs")
    eve.put("jobs", b"1", b"2")
    net.until(lambda: eve.state_of("jobs", 2) == "OK")
    eve.ok(eve.ask("queue_purge", name="jobs"))
    eve.ok(eve.ask("queue_remove", name="jobs"))
    emptied, removed = events(node, "queue")[-2:]
    assert emptied.startswith("'jobs': /node/a/client/eve/") and emptied.endswith(" purged 2 messages")
    assert KEY in emptied
    assert removed.startswith("'jobs' was deleted by /node/a/client/eve/") and KEY in removed


def test_an_event_says_by_whose_key_a_durable_subscription_was_removed() -> None:
    node = SimNetwork().node("a")
    eve = keyed(node)
    eve.ok(eve.ask("durable", name="audit", queries=[["exact", "k", ""]]))
    eve.ok(eve.ask("durable_remove", name="audit"))
    [text] = [text for text in events(node, "durable") if "removed" in text]
    assert "client/eve" in text and KEY in text
