"""Hostile or mistaken clients of queues: refused or disconnected, while others continue."""

from typing import Any

import pytest

from mesh.features.queues.node.parts import QueueParts
from mesh.features.services.node.parts import ServiceParts
from mesh.kernel.context.conn import MONITOR
from mesh.wire import commands as c
from mesh.wire.envelope import FORCE_QUEUING, LOCAL_ONLY, PERSISTENT
from tests.mesh.features.queues.node.worker import Worker
from tests.mesh.features.services.node.user import REPLIES
from tests.simulation import SimNetwork

MOST = 2**32 - 1


class Stage:
    """A node, an honest client with a queue, and a hostile client that consumes from another queue."""

    def __init__(self) -> None:
        self.net = SimNetwork()
        (self.a,) = self.net.mesh("a")
        self.good, self.liar = Worker(self.a, "good"), Worker(self.a, "liar")
        self.good.declare("good")
        self.good.take("good")
        self.done = 0
        self.liar.declare("bad")
        self.works()

    def works(self) -> None:
        """Put, deliver and ack a job of the honest client."""
        self.good.put("good", b"!")
        self.done += 1
        self.net.until(lambda: len(self.good.contents()) == self.done)
        assert self.good.settle(self.done, self.done) == []

    def refusal(self, *said: c.Command) -> str:
        """Return the code with which the hostile client is disconnected, or "". Others must continue."""
        for command in said:
            self.liar.say(command)
        self.net.run(0.5)
        self.works()
        found = [x.code for x in self.liar.heard if isinstance(x, c.Refuse)]
        return found[-1] if found else ""


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.mark.parametrize(
    ("more", "code"),
    [({"credit": 1001}, "BAD_ARGUMENT"), ({"credit": MOST}, "BAD_ARGUMENT"), ({"number": 0}, "BAD_ARGUMENT"),
     ({"number": REPLIES}, "BAD_ARGUMENT"), ({"local_only": True}, "BAD_ARGUMENT"),
     ({"selector": "(" * 256}, "BAD_SELECTOR"), ({"selector": "a == " + "not " * 60 + "b"}, "BAD_SELECTOR"),
     ({"selector": "__import__('os')"}, "BAD_SELECTOR"), ({"queue": "good/x"}, "NO_QUEUE"),
     ({"queue": ""}, "BAD_NAME"), ({"queue": "+"}, "BAD_NAME"), ({"queue": "map/x"}, "BAD_NAME")],
)  # fmt: skip
def test_who_asks_for_what_cannot_be_is_told_why(stage: Stage, more: dict[str, Any], code: str) -> None:
    queue = more.pop("queue", "bad")
    assert stage.liar.take(queue, **more).code == code
    stage.works()
    assert not stage.a.core.parts[QueueParts].queues.get("bad").part.takers


def test_who_ends_what_he_never_began_is_told_nothing_bad(stage: Stage) -> None:
    stage.liar.leave("bad", number=7)
    stage.works()


def test_one_number_is_of_one_thing(stage: Stage) -> None:
    stage.liar.serve("calc/add", number=5)
    assert stage.liar.take("bad", number=5).code == "BAD_ARGUMENT"
    stage.liar.take("bad", number=6)
    assert stage.liar.take("good", number=6).code == "BAD_ARGUMENT"
    stage.liar.serve("calc/sub", number=6)
    assert "calc/sub" not in stage.a.core.parts[ServiceParts].serving.addresses
    stage.works()


@pytest.mark.parametrize("number", [1, 7, 0, REPLIES])
def test_what_is_settled_under_a_number_that_nobody_has_is_counted(stage: Stage, number: int) -> None:
    assert stage.refusal(c.Settle(number, 5, (1, MOST), request=900)) == ""
    said = stage.liar.said(900)
    assert said is not None and said.code == "LEASE_OVER"


def test_replies_and_envelopes_are_no_matter_of_a_queue(stage: Stage) -> None:
    stage.liar.take("bad")
    stage.liar.put("bad", b"1")
    stage.net.until(stage.liar.contents)
    assert stage.refusal(c.Settle(1, stage.liar.epoch, (), (1,))) == "MALFORMED"


@pytest.mark.parametrize("flags", [FORCE_QUEUING | PERSISTENT, LOCAL_ONLY, 2**20])
def test_what_is_put_is_persistent_or_not_and_nothing_else(stage: Stage, flags: int) -> None:
    stage.liar.put("bad", b"1", flags=flags)
    stage.net.run(0.5)
    stage.works()
    assert stage.a.core.parts[QueueParts].queues.get("bad").part.backlog.messages == 0


@pytest.mark.parametrize(
    "terms",
    [{"max_bytes": -1}, {"max_count": 0}, {"max_attempts": float("nan")}, {"expiry": float("inf")},
     {"when_full": "drop"}, {"dead_letter": "__sys__x"}, {"dead_letter": "queue/bad"}, {"what": 1},
     {"max_count": 2**63}, {"nodes": "heron"}, {"exclusive": 1}, {"scope": None}],
)  # fmt: skip
def test_terms_that_cannot_be(stage: Stage, terms: dict[str, Any]) -> None:
    reply = stage.liar.ask("queue_declare", name="bad", terms=terms)
    assert reply.code == "BAD_ARGUMENT"
    stage.works()


def test_a_declaration_that_differs_names_what_does(stage: Stage) -> None:
    reply = stage.liar.ask("queue_declare", name="bad", terms={"max_attempts": 3})
    assert reply.code == "QUEUE_EXISTS"
    assert "max_attempts is 8, not 3" in reply.text


@pytest.mark.parametrize("verb", ["queue_declare", "queue_purge", "queue_remove"])
def test_who_only_reads_changes_nothing(stage: Stage, verb: str) -> None:
    for conn in stage.a.core.parts.dialler.conns.values():
        if conn.owner == stage.liar.stream:
            conn.grant = MONITOR
    assert stage.liar.ask(verb, name="bad").code == "NOT_ALLOWED"
    assert stage.liar.take("bad").code == "NOT_ALLOWED"
    assert stage.liar.info("bad")["ready"] == 0
    stage.works()


def test_a_consumer_that_never_acks_has_its_credit_and_no_more(stage: Stage) -> None:
    stage.liar.take("bad", credit=5)
    stage.good.put("bad", *(b"%d" % n for n in range(50)))
    stage.net.until(lambda: len(stage.liar.contents()) == 5)
    stage.net.run(30)
    stage.works()
    assert len(stage.liar.contents()) == 5
    assert stage.good.info("bad")["ready"] == 45


def test_a_queue_removed_under_its_consumers_ends_them_and_what_they_settle_is_late(stage: Stage) -> None:
    stage.liar.take("bad")
    stage.liar.put("bad", b"1")
    stage.net.until(stage.liar.contents)
    stage.good.ask("queue_remove", name="bad", if_unused=False)
    stage.works()
    assert [x.code for x in stage.liar.heard if isinstance(x, c.Ended)] == ["NO_QUEUE"]
    assert stage.liar.settle(1, 1) == "LEASE_OVER"


def test_acks_pass_where_the_disk_is_full(stage: Stage) -> None:
    stage.liar.take("bad", credit=2)
    stage.liar.put("bad", b"1", b"2")
    stage.net.until(lambda: len(stage.liar.contents()) == 2)
    stage.a.disk.is_full = True
    assert stage.liar.settle(1, 2) == []
    number = stage.liar.put("bad", b"3")
    stage.net.until(lambda: stage.liar.state_of("bad", number))
    assert stage.liar.state_of("bad", number) == "STORE_FULL"
    stage.a.disk.is_full = False
    stage.works()
    assert stage.good.info("bad")["ready"] == 0
