"""Prepared transactions: they keep their deliveries and their place until a decision, over restarts."""

from __future__ import annotations

import pytest

from mesh.features.transactions.node import prepared_transaction
from mesh.kernel.context.leaving import Fate
from mesh.operations import Put
from mesh.wire.envelope import Envelope
from tests.mesh.features.queues.node.worker import a_node
from tests.mesh.features.transactions.node.clerk import Clerk
from tests.mesh.features.transactions.node.test_several_stores import (
    ALL,
    BIG,
    branches,
    ends,
    full_after,
    parts,
    seen,
    with_stores,
)
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode

NAME = "a/x"


def restart(joe: Clerk) -> None:
    joe.node.kill()
    joe.node.restart()
    joe.connect()


def left(joe: Clerk) -> int:
    """Return the number of messages of `jobs` that are not done."""
    joe.net.run(6.0)
    return int(joe.info("jobs")["ready"])


def outcomes(node: SimNode) -> list[bytes]:
    return [key for key in node.disk.load().tables["done"] if key[:1] == b"\2"]


def test_a_prepared_transaction_is_visible_after_its_decision_and_keeps_its_delivery_until_then() -> None:
    joe = with_stores()
    net, a = joe.net, joe.node
    assert joe.prepare("x", *parts(joe)) == ""
    ann = Clerk(a, "ann")
    ann.take("jobs")
    joe.leave("jobs")
    joe.vanish()
    net.run(60.0)
    assert (seen(ann)[::2], ann.info("jobs")["out"], ann.contents()) == (([], 0), 1, [])
    assert a.core.parts.context.figures()["transactions_prepared"] == 1
    assert ann.decide(NAME, "commit") == "committed"
    assert seen(ann) == ALL
    assert (ann.decide(NAME, "commit"), ann.decide(NAME, "rollback")) == ("committed", "committed")
    assert (branches(a), a.core.parts.context.figures()["transactions_prepared"]) == (0, 0)


def test_after_a_rollback_any_consumer_gets_the_delivery_as_redelivered() -> None:
    joe = with_stores()
    net, a = joe.net, joe.node
    all_of_it = parts(joe)
    assert joe.prepare("x", *all_of_it) == ""
    assert joe.decide(NAME, "rollback") == "refused"
    net.until(lambda: joe.contents() == [b"1", b"1"])
    assert (joe.tries[1], seen(joe)[::2], branches(a)) == ([0, 1], ([], 0), 0)
    assert joe.decide(NAME, "commit") == "refused"
    joe.vanish()
    joe.connect()
    assert joe.prepare("x", *all_of_it, count=1) == ""  # it was prepared, and later decided


@pytest.mark.parametrize("has_consumer", [False, True])
@pytest.mark.parametrize("do", ["commit", "rollback"])
def test_it_outlives_restarts(do: str, has_consumer: bool) -> None:
    joe = with_stores((b"1", b"0", b"4"))
    a = joe.node
    assert joe.prepare("x", [joe.ack(1, 3)], *parts(joe)[1:]) == ""
    if not has_consumer:
        joe.leave("jobs")
    for _ in range(3):
        restart(joe)
        joe.net.run(30.0)
    ann = Clerk(a, "ann")
    ann.take("jobs")
    ann.net.until(lambda: ann.contents() == [b"0"])
    ann.net.run(30.0)
    assert (ann.contents(), seen(ann)[::2], ann.info("jobs")["out"]) == ([b"0"], ([], 0), 3)
    (row,) = ann.prepared()["transactions"]
    assert (row["name"], row["state"], row["operations"]) == (NAME, "prepared", 4)
    assert row["queues"] == ["jobs", "next"]
    if do == "commit":
        assert ann.decide(NAME, do) == "committed"
        assert (seen(ann)[::2], ann.info("jobs")["out"]) == ((["done"], 1), 1)
        restart(joe)
        assert (seen(joe)[::2], left(joe)) == ((["done"], 1), 1)
    else:
        assert ann.decide(NAME, do) == "refused"
        ann.net.until(lambda: sorted(ann.contents()) == [b"0", b"1", b"4"])
        assert (ann.tries[1][1:], seen(ann)[::2]) == ([1, 1], ([], 0))
    assert branches(a) == 0
    restart(joe)
    assert (joe.decide(NAME, do), joe.prepared()["transactions"]) == (
        "committed" if do == "commit" else "refused",
        [],
    )


@pytest.mark.parametrize("seed", range(0, 40, 2))
def test_a_crash_during_the_decision_leaves_it_prepared_or_decided(seed: int) -> None:
    joe = with_stores()
    net, a = joe.net, joe.node
    assert joe.prepare("x", *parts(joe)) == ""
    joe.asks("tx_decide", name=NAME, do="commit")
    net.run(0.0007 * seed)
    restart(joe)
    is_decided = bool(outcomes(a))
    assert seen(joe)[::2] == ((["done"], 1) if is_decided else ([], 0))
    assert len(joe.prepared()["transactions"]) == (not is_decided)
    assert joe.decide(NAME, "commit") == "committed"
    assert (seen(joe)[::2], joe.info("jobs")["bytes"], branches(a)) == ((["done"], 1), 0, 0)


def test_C27_ten_prepared_branches_are_rolled_back_after_a_restart() -> None:
    net, a = a_node()
    joe = Clerk(a, "joe")
    joe.declare("jobs")
    joe.take("jobs")
    joe.put("jobs", *(b"%d" % n for n in range(10)))
    net.until(lambda: len(joe.contents()) == 10)
    assert [joe.prepare(f"x{n}", [joe.ack(n + 1)]) for n in range(10)] == [""] * 10
    a.kill()
    a.restart()
    ann = Clerk(a, "ann")
    ann.take("jobs")
    net.run(30.0)
    assert ann.contents() == []
    assert [ann.decide(f"a/x{n}", "rollback") for n in range(10)] == ["refused"] * 10
    net.until(lambda: sorted(ann.contents()) == [b"%d" % n for n in range(10)])
    assert set(ann.tries[1]) == {1}


def test_names_and_numbers_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared_transaction, "MOST_OF_USER", 2)
    joe = with_stores()
    assert joe.prepare("x", [], joe.envelope("next", b"2")) == ""
    assert joe.prepare("x", [], joe.envelope("next", b"2")) == "NAME_TAKEN"
    assert joe.prepare("a/b", [], joe.envelope("next", b"2")) == "BAD_NAME"
    assert joe.prepare("y", [], joe.envelope("next", b"2")) == ""
    assert joe.prepare("z", [], joe.envelope("next", b"2")) == "TOO_MANY_PREPARED"
    assert joe.decide(NAME, "rollback") == "refused"
    assert joe.prepare("x", [], joe.envelope("next", b"2")) == "NAME_TAKEN"
    assert joe.prepare("z", [], joe.envelope("next", b"2")) == ""
    assert joe.decide("a/nothing", "commit") == "NO_TRANSACTION"
    assert joe.decide("stork/x", "commit") == "NODE_AWAY"
    assert joe.decide(NAME, "destroy") == "BAD_ARGUMENT"


def test_its_bytes_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared_transaction, "MOST_BYTES", 1000)
    joe = with_stores()
    assert joe.prepare("x", [], joe.envelope("next", bytes(600))) == ""
    assert joe.prepare("y", [], joe.envelope("next", bytes(600))) == "TOO_MANY_PREPARED"


@pytest.mark.parametrize("restarts", [False, True])
def test_its_capacity_is_reserved_and_its_queue_must_stay(restarts: bool) -> None:
    joe = with_stores(max_count=1)
    assert joe.prepare("x", [], joe.envelope("next", b"2")) == ""
    if restarts:
        restart(joe)
    assert joe.code([], joe.envelope("next", b"3")) == "QUEUE_FULL"
    assert joe.ask("queue_remove", name="next", if_unused=False).code == "QUEUE_IN_USE"
    assert joe.decide(NAME, "commit") == "committed"
    assert joe.info("next")["ready"] == 1
    assert joe.ask("queue_remove", name="next", if_unused=False).code == ""


def test_a_full_store_leaves_it_prepared() -> None:
    joe = with_stores()
    a = joe.node
    assert joe.prepare("x", *parts(joe)) == ""
    full_after(a, BIG, lambda ops: any(isinstance(op, Put) for op in ops))
    assert joe.decide(NAME, "commit") == "STORE_FULL"
    assert (seen(joe)[::2], len(joe.prepared()["transactions"])) == (([], 0), 1)
    full_after(a, BIG, lambda ops: False)
    joe.net.run(3.0)  # until hidden rows are gone
    full_after(a, BIG, ends)
    request = joe.asks("tx_decide", name=NAME, do="commit")
    joe.net.until(lambda: joe.prepared()["transactions"][0]["state"] == "finishing")
    full_after(a, BIG, lambda ops: False)
    assert joe.reply_to(request).value["outcome"] == "committed"
    assert seen(joe) == ALL


def some(joe: Clerk, name: str) -> tuple[Envelope, Envelope]:
    return joe.message("orders/42", name.encode()), joe.envelope("next", b"1")


def test_decisions_are_carried_out_in_their_order() -> None:
    joe = with_stores()
    s = client_of(joe.node).subscribed("orders/42")
    for name in ("x", "y", "z"):
        assert joe.prepare(name, [], *some(joe, name)) == ""
    requests = [joe.asks("tx_decide", name=f"a/{name}", do="commit") for name in ("z", "x", "y")]
    assert [joe.reply_to(request).code for request in requests] == ["", "", ""]
    joe.net.until(lambda: len(s.got) == 3)
    assert [got.content for got in s.got] == [b"z", b"x", b"y"]


def test_an_old_transaction_is_reported_and_its_outcome_forgotten_after_a_week(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    joe = with_stores()
    a = joe.node
    assert joe.prepare("x", [], joe.envelope("next", b"2")) == ""
    joe.net.run(3700.0)
    joe.connect()
    events = [each for each in a.core.parts.context.events.events_after(0)[0] if each.kind == "transaction"]
    assert len(events) == 1 and NAME in events[0].text
    assert 3700 <= a.core.parts.context.figures()["transactions_prepared_age"] < 3800
    assert joe.decide(NAME, "rollback") == "refused"
    assert outcomes(a)
    monkeypatch.setattr("mesh.features.transactions.node.prepared.KEPT", 10**9)
    joe.net.run(5.0)
    assert (outcomes(a), joe.decide(NAME, "commit")) == ([], "NO_TRANSACTION")


def test_the_time_until_an_event_reports_a_prepared_transaction_is_a_setting() -> None:
    joe = Clerk(SimNetwork().node("a", prepared_warning=60.0), "joe")
    joe.declare("next")
    assert joe.prepare("x", [], joe.envelope("next", b"2")) == ""
    events = joe.node.core.parts.context.events
    joe.net.run(50.0)
    assert not [each for each in events.events_after(0)[0] if each.kind == "transaction"]
    joe.net.run(20.0)
    (found,) = [each for each in events.events_after(0)[0] if each.kind == "transaction"]
    assert "a/x: prepared 60.2 s ago, with 1 operation;" in found.text


def test_the_history_has_the_messages_of_prepared_transactions() -> None:
    joe = with_stores()
    face = joe.node.core.parts.context.face

    def waiting(*names: str) -> list[tuple[int, int]]:
        found = [each for each in face.waiting(names) if each.name == "transaction/prepared"]
        return [(each.messages, round(each.oldest or 0)) for each in found]

    assert (waiting(), waiting("transaction/prepared")) == ([], [(0, 0)])
    assert joe.prepare("x", [], *some(joe, "x")) == ""
    joe.net.run(30.0)
    assert joe.prepare("y", [joe.ack(1)]) == ""
    assert waiting() == [(2, 30)]
    restart(joe)
    assert waiting()[0][0] == 2


def test_a_drain_names_prepared_transactions_and_does_not_wait_for_them() -> None:
    joe = with_stores()
    net, a = joe.net, joe.node
    assert joe.prepare("x", [joe.ack(1)]) == ""
    assert isinstance(net, SimNetwork)
    net.node("b", "a")
    net.run(5.0)
    left = {each.what: each for each in a.core.parts.context.face.remains()}
    assert (
        left["prepared transactions"].fate is Fate.WAITS and "mesh tx ls" in left["prepared transactions"].why
    )
    assert "messages of queues" not in left
