"""COMMITs of a client over reconnects: in the order of their first sending, and never twice."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from mesh.client.core.delivered_envelope import HERE, SAID, DeliveredEnvelope, Some
from mesh.errors import Closed, InDoubt, MessageTooLarge, TransactionRefused
from mesh.features.transactions.client.core.commits import REQUESTS
from mesh.features.transactions.client.core.open_commit import OpenCommit
from mesh.features.transactions.client.operations import Operations
from mesh.features.transactions.wire import ACK, Commit, Settled
from mesh.wire import commands as c
from mesh.wire.envelope import PERSISTENT, RESENT, Envelope
from mesh.wire.limits import DURABLE, MIB, TRANSACTIONS, TRANSACTIONS_OPEN, VISITS
from mesh.wire.packed import PackedEnvelopes
from tests.mesh.client.core.benches import KEY, CoreBench, result
from tools.costing.wire import WELCOME


class Bench(CoreBench):
    def publish(self, domain: str = "") -> None:
        self.core.publisher.append_message("k", b"plain", domain, 0, b"", 0)
        self.core.publisher.accumulator.seal()
        self.wait()

    def commit(self, *domains: str) -> OpenCommit:
        envelopes = [
            Envelope(KEY.id, domain, 1, 1, ("k",), 1, 2, b"tx", flags=PERSISTENT) for domain in domains
        ]
        found = self.core.commits.hand_over((), (), envelopes)
        self.wait()
        return found

    def answer(self, it: OpenCommit, value: object = None, code: str = "", text: str = "") -> None:
        self.hear(c.Reply(REQUESTS + it.number, value, code, text))

    def order(self) -> list[str]:
        """Return the sent messages in order: p for a publish and c for a COMMIT, with domains and numbers."""
        found = []
        for effect in self.done:
            command = getattr(effect, "command", None)
            if isinstance(command, c.Publish):
                found += [f"p {e.domain}{e.first}" for e in effect.envelopes]  # type: ignore[union-attr]
            elif isinstance(command, Commit):
                packed = effect.envelopes  # type: ignore[union-attr]
                inner = packed[0].envelopes if packed and isinstance(packed[0], PackedEnvelopes) else ()
                found.append(" ".join([f"c{command.count}", *(f"{e.domain}{e.first}" for e in inner)]))
        return found


def test_everything_unanswered_is_sent_again_in_the_order_of_its_first_sending() -> None:
    it = Bench()
    it.publish("a")
    it.publish("b")
    first = it.commit("b", "c")
    it.publish("c")
    it.publish("a")
    second = it.commit("a")
    it.publish("b")
    assert it.order() == ["p a1", "p b1", "c1 b2 c1", "p c2", "p a2", "c2 a3", "p b3"]
    it.again()
    assert it.order() == ["p a1", "p b1", "c1 b2 c1", "p a2", "p c2", "c2 a3", "p b3"]
    it.hear(c.Answers((c.Answer("a", 1, 1),)))
    it.answer(first, [["OK", 1, ""], ["OK", 0, ""]])
    assert [(a.domain, a.first, a.matched) for a in result(first.promise)] == [("b", 2, 1), ("c", 1, 0)]
    it.again()
    assert it.order() == ["p a2", "p b1", "p c2", "c2 a3", "p b3"]
    it.answer(second, [["OK", 1, ""]])
    it.again()
    assert it.order() == ["p a2", "p b1", "p b3", "p c2"]


def test_a_repeated_commit_is_equal_byte_for_byte_but_for_the_lowest_number() -> None:
    it = Bench()
    one, two = it.commit("a"), it.commit("a")
    commands = [command for command in it.sent() if isinstance(command, Commit)]
    assert [(each.count, each.low) for each in commands] == [(1, 1), (2, 1)]
    it.answer(one, [["OK", 1, ""]])
    it.again()
    (again,) = [command for command in it.sent() if isinstance(command, Commit)]
    assert again == replace(commands[1], low=2)
    it.answer(two, [["OK", 1, ""]])
    assert it.core.publisher.is_quiet and not len(it.core.commits)


class Holder:
    def __init__(self) -> None:
        self.some: list[Some] = []

    def hold(self, some: Some) -> None:
        self.some.append(some)

    def release(self, some: Some, is_done: bool) -> None:
        self.some.remove(some)


@pytest.mark.parametrize("is_refused", [False, True])
def test_its_deliveries_are_settled_and_come_back_only_if_it_is_refused(is_refused: bool) -> None:
    it, holder = Bench(), Holder()
    e = Envelope(b"s" * 16, "queue/jobs", 1, 2, ("k",), 2, 1, b"ab")
    delivered = DeliveredEnvelope(e, None, b"", 1, 1, WELCOME.node.uuid)
    settles = [Settled("jobs", 1, ACK, 0, False, e.stream, (2, 2))]
    found = it.core.commits.hand_over(settles, [(holder, (delivered, (1,)))], [])
    assert (list(delivered.states), holder.some) == ([HERE, SAID], [(delivered, (1,))])
    if is_refused:
        it.answer(found, 0, "LEASE_OVER", "too late [LEASE_OVER]")
        with pytest.raises(TransactionRefused) as error:
            result(found.promise)
        assert (error.value.code, error.value.operation, error.value.what) == ("LEASE_OVER", 0, "too late")
    else:
        it.answer(found, [])
        assert result(found.promise) == []
    assert (list(delivered.states), holder.some) == ([HERE, HERE if is_refused else SAID], [])


def test_a_refusal_is_reported_to_its_caller_alone() -> None:
    it = Bench()
    found = it.commit("a")
    it.answer(found, 0, "QUEUE_FULL", "full [QUEUE_FULL]")
    with pytest.raises(TransactionRefused):
        result(found.promise)
    it.core.publisher.verdicts.raise_first()
    it.again()
    assert it.order() == [] and it.core.publisher.is_quiet
    it.publish("a")
    assert it.order() == ["p a2"]  # its number is not used again


def test_at_another_node_its_outcome_is_in_doubt_and_it_is_not_sent() -> None:
    it = Bench()
    found = it.commit("a")
    it.publish("a")
    it.core.on_disconnected(it.context.now, it.core.line.key)
    it.wait()
    it.done.clear()
    it.connect(replace(WELCOME, node=replace(WELCOME.node, uuid=b"o" * 16, name="stork")))
    with pytest.raises(InDoubt):
        result(found.promise)
    assert it.order() == ["p a2"]
    it.answer(found, [["OK", 1, ""]])  # too late
    it.hear(c.Answers((c.Answer("a", 2, 2),)))
    assert it.core.publisher.is_quiet


def test_a_commit_of_a_disconnected_client_is_sent_when_it_is_connected() -> None:
    it = Bench()
    it.core.on_disconnected(it.context.now, it.core.line.key)
    it.wait()
    it.done.clear()
    found = it.commit("a")
    assert it.order() == []
    it.connect()
    assert it.order() == ["c1 a1"]
    it.answer(found, [["OK", 1, ""]])
    assert len(result(found.promise)) == 1


def test_a_session_has_64_transactions_without_an_answer() -> None:
    it = Bench()
    every = []
    while it.core.commits.has_room:
        every.append(it.commit("a"))
    assert len(every) == TRANSACTIONS_OPEN
    it.answer(every[1], [["OK", 1, ""]])
    assert not it.core.commits.has_room
    it.answer(every[0], [["OK", 1, ""]])
    assert it.core.commits.has_room


def test_closing_leaves_it_in_doubt() -> None:
    it = Bench()
    found = it.commit("a")
    it.core.close()
    with pytest.raises(InDoubt):
        result(found.promise)
    with pytest.raises(Closed):
        it.core.commits.hand_over((), (), ())


@pytest.mark.parametrize("value", [None, [], [["OK", 1, ""], ["OK", 1, ""]], [["OK", "x", ""]], {"a": 1}])
def test_a_bad_answer_ends_the_connection_and_decides_nothing(value: object) -> None:
    it = Bench()
    found = it.commit("a")
    it.answer(found, value)
    assert not found.promise.done() and not it.core.line.is_up
    it.again()
    it.answer(found, [["OK", 1, ""]])
    assert len(result(found.promise)) == 1


def test_a_commit_that_makes_the_node_hang_up_is_refused_and_the_others_proceed() -> None:
    it = Bench()
    first = it.commit("a")
    it.publish("a")
    bad = it.commit("b")
    it.publish("b")

    def hangs_up() -> None:
        it.hear(c.Refuse("MALFORMED", "COMMIT cannot be read"))
        it.again()

    hangs_up()
    assert it.order() == ["c1 a1"]  # one at a time from now on
    it.answer(first, [["OK", 1, ""]])
    it.hear(c.Answers((c.Answer("a", 2, 2),)))
    assert it.order() == ["c1 a1", "p a2", "c2 b1"]
    hangs_up()
    assert it.order() == ["c2 b1"] and not bad.promise.done()  # once may be chance
    hangs_up()
    with pytest.raises(TransactionRefused) as error:
        result(bad.promise)
    assert (error.value.code, "COMMIT cannot be read" in str(error.value)) == ("MALFORMED", True)
    assert it.order() == ["p b2"]
    it.hear(c.Answers((c.Answer("b", 2, 2),)))
    assert it.core.publisher.is_quiet and not it.core.commits


def test_while_in_doubt_its_domains_wait_and_their_low_stays_down() -> None:
    it = Bench()
    found = it.commit("a")
    it.core.on_disconnected(it.context.now, it.core.line.key)
    it.wait()
    it.done.clear()
    words = (*WELCOME.speaks, VISITS, TRANSACTIONS, DURABLE)
    it.connect(replace(WELCOME, node=replace(WELCOME.node, uuid=b"o" * 16, name="stork"), speaks=words))
    (asked,) = [each for each in it.sent() if isinstance(each, c.Call) and each.verb == "tx_outcome"]
    assert (asked.arguments["target"], asked.arguments["count"]) == (WELCOME.node.uuid, 1)
    it.publish("a")
    it.publish("b")
    after = it.commit("a", "c")
    it.publish("c")
    assert it.order() == ["p b1"]
    it.hear(c.Reply(asked.request, code="NODE_AWAY", text="away"))
    it.wait(1.0)
    again = [each for each in it.sent() if isinstance(each, c.Call) and each.verb == "tx_outcome"][-1]
    assert again.request != asked.request
    value = {"outcome": "committed", "answers": [["FORWARD_WARNING", 0, "waits"]]}
    it.hear(c.Reply(again.request, value))
    assert [each.state for each in result(found.promise)] == ["FORWARD_WARNING"]
    assert it.order() == ["p b1", "p a1", "p a2", "c2 a3 c1", "p c2"]
    sent = [e for each in it.done for e in getattr(each, "envelopes", ()) if getattr(e, "domain", "") == "a"]
    assert [(e.first, e.low, bool(e.flags & RESENT)) for e in sent] == [(1, 1, True), (2, 1, False)]
    it.answer(after, [["OK", 1, ""], ["OK", 1, ""]])
    assert len(result(after.promise)) == 2


def test_the_node_sets_the_limit_of_bytes() -> None:
    it = Bench()
    assert it.core.commits.max_bytes == 8 * MIB  # also of an earlier release
    it.core.on_disconnected(it.context.now, it.core.line.key)
    it.wait()
    it.done.clear()
    it.connect(replace(WELCOME, transaction_bytes=10))
    operations = Operations(MIB, it.core.commits.max_bytes)
    operations.add_message("", PERSISTENT, "", (), "", "k", b"x" * 10, b"", 0)
    with pytest.raises(MessageTooLarge, match="more than 10 bytes"):
        operations.add_message("", PERSISTENT, "", (), "", "k", b"x", b"", 0)
