"""Durable subscriptions with a store of their own, on simulated nodes."""

from __future__ import annotations

from typing import Any

import pytest

from mesh.errors import StoreFull
from mesh.features.queues.node.keeping import spool
from mesh.features.queues.node.parts import QueueParts
from mesh.kernel.context.facts import BackupChanged
from mesh.names import store_of
from mesh.operations import moved_key
from mesh.store.base import begin
from mesh.store.moving import Place, finish, move
from mesh.wire.envelope import PERSISTENT
from tests.mesh.features.queues.node.keeping.test_queues_stores import waiting
from tests.mesh.features.queues.node.reader import Reader
from tests.simulation import SimNetwork, SimNode

AUDIT = "sqlite:///audit"
STORES = (("sub/audit", AUDIT), ("#", "sqlite:///others"))
NUMBERS = [b"%d" % n for n in range(20)]


def a_node(**settings: Any) -> tuple[SimNetwork, SimNode]:
    net = SimNetwork()
    return net, net.node("a", stores=STORES, **settings)


def subscribed(a: SimNode, name: str = "joe") -> Reader:
    joe = Reader(a, name)
    joe.ok(joe.durable("audit"))
    return joe


def in_audit(a: SimNode) -> list[bytes]:
    return [content for to, content in waiting(a.others[AUDIT]) if to == "queue/sub/audit"]


def markers(a: SimNode) -> bool:
    return moved_key("") in a.others[AUDIT].store.load().tables["moved"]


def settled(a: SimNode) -> None:
    """Move what a crash left in the wrong store, as a start of a real node does."""
    stores = {"": a.disk.store, **{name: disk.store for name, disk in a.others.items()}}
    boot = a.disk.boot + 1
    images = {name: begin(store, boot) for name, store in stores.items()}
    if finish(stores, images):
        images = {name: begin(store, boot) for name, store in stores.items()}
    places = {name: Place(store, images[name]) for name, store in stores.items()}
    move(places, lambda queue: store_of(queue, STORES))


def test_002_02_messages_of_a_durable_subscription_lie_in_its_store_alone() -> None:
    net, a = a_node()
    joe = subscribed(a)
    joe.ok(joe.durable("other"))
    for number in NUMBERS:
        assert joe.published(number) == "OK"
    net.until(lambda: len(in_audit(a)) == 20)
    net.until(lambda: not markers(a))
    assert in_audit(a) == NUMBERS
    assert [to for to, _ in waiting(a.disk)] == ["queue/sub/other"] * 20
    joe.take("sub/audit", credit=100)
    net.until(lambda: joe.contents() == NUMBERS)
    assert joe.settle(1, 20) == []
    net.until(lambda: not in_audit(a))
    net.run(1)
    assert a.metric("stored_envelopes") == 20


def test_002_02_they_survive_a_restart_with_their_attempts() -> None:
    net, a = a_node()
    joe = subscribed(a)
    for number in NUMBERS[:3]:
        assert joe.published(number) == "OK"
    net.until(lambda: len(in_audit(a)) == 3)
    net.run(1)
    a.kill()
    a.start()
    sue = Reader(a, "sue")
    sue.take("sub/audit")
    net.until(lambda: sue.contents() == NUMBERS[:3])
    assert sue.published(b"new") == "OK"
    net.until(lambda: sue.contents() == [*NUMBERS[:3], b"new"])


@pytest.mark.parametrize("step", range(10))
def test_002_02_a_crash_at_any_commit_neither_loses_nor_doubles_a_message(
    step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, a = a_node()
    monkeypatch.setattr(spool, "MOST", 2)
    joe = subscribed(a)
    net.run(1)
    commits = [0]
    for disk in (a.disk, a.others[AUDIT]):
        commit = disk.store.commit

        def counted(ops: Any, commit: Any = commit) -> None:
            commit(ops)
            commits[0] += 1
            if commits[0] == step + 1:
                raise KeyboardInterrupt

        monkeypatch.setattr(disk.store, "commit", counted)
    sent = [joe.posts(number) for number in NUMBERS[:6]]
    with pytest.raises(KeyboardInterrupt):
        net.run(5)
    monkeypatch.undo()
    answered = [n for n, number in zip(NUMBERS, sent, strict=False) if joe.state(number) == "OK"]
    a.kill()
    settled(a)
    assert not markers(a) and not waiting(a.disk)
    a.start()
    kept = in_audit(a)
    assert kept == NUMBERS[: len(kept)] and len(kept) >= len(answered)
    sue = Reader(a, "sue")
    sue.take("sub/audit")
    net.until(lambda: len(sue.contents()) == len(kept))
    net.run(2)
    assert sue.contents() == kept


def full(a: SimNode, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Let the store of the subscription refuse new envelopes while the returned list is not empty."""
    store, is_full = a.others[AUDIT].store, [True]
    commit = store.commit

    def refusing(ops: Any) -> None:
        if is_full and any(type(op).__name__ == "Append" for op in ops):
            raise StoreFull("full")
        commit(ops)

    monkeypatch.setattr(store, "commit", refusing)
    return is_full


def test_while_its_store_is_full_a_subscription_loses_new_messages_and_reports_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net, a = a_node()
    joe = subscribed(a)
    is_full = full(a, monkeypatch)
    assert joe.published(b"first") == "OK"
    net.until(lambda: a.core.parts[QueueParts].queues.get("sub/audit").rows.spool.is_stuck)  # type: ignore[union-attr]
    for number in NUMBERS:
        assert joe.published(number) == "OK", "others are not disturbed"
        net.run(0.3)
    net.run(2)
    assert any(f"{AUDIT} is full" in note for note in a.notes)
    lost = a.metric("durable_dropped")
    assert 15 <= lost <= 20
    assert len(waiting(a.disk)) + lost == 21
    is_full.clear()
    net.until(lambda: len(in_audit(a)) == 21 - lost)
    net.until(lambda: not waiting(a.disk))
    assert in_audit(a)[0] == b"first"
    assert joe.published(b"last") == "OK"
    net.until(lambda: in_audit(a)[-1] == b"last")


def test_with_reject_publishing_is_refused_while_the_store_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    net, a = a_node(durable_full="reject")
    joe = subscribed(a)
    is_full = full(a, monkeypatch)
    assert joe.published(b"first") == "OK"
    net.until(lambda: joe.published(b"more", flags=PERSISTENT) == "QUEUE_FULL")
    assert joe.published(b"elsewhere", keys=("cars/a",)) == "OK"
    is_full.clear()
    net.run(2)
    assert joe.published(b"last") == "OK"
    net.until(lambda: in_audit(a)[-1:] == [b"last"])
    assert in_audit(a)[0] == b"first" and a.metric("durable_dropped") == 0


def test_an_unsubscribed_name_leaves_nothing_in_its_store() -> None:
    net, a = a_node()
    joe = subscribed(a)
    for number in NUMBERS:
        joe.posts(number)
    joe.ok(joe.remove("audit"))
    net.run(5)
    assert not in_audit(a) and not waiting(a.disk) and not markers(a)
    assert a.metric("stored_envelopes") == 0


def test_during_a_backup_messages_stay_in_the_store_that_is_copied_last() -> None:
    net, a = a_node(backlog_bytes=40_000)
    joe = subscribed(a)
    queues = a.core.parts[QueueParts].queues
    queues._on_backup(BackupChanged(is_begun=True))
    assert joe.published(b"1") == "OK"
    net.run(3)
    assert in_audit(a) == [] and [content for _, content in waiting(a.disk)] == [b"1"]
    for _ in range(3):
        assert joe.published(b"x" * 10_000) == "OK"
    net.run(3)
    assert in_audit(a)[:1] == [b"1"], "half of the limit has waited"
    assert joe.published(b"2") == "OK"
    net.run(3)
    assert waiting(a.disk)[-1] == ("queue/sub/audit", b"2")
    queues._on_backup(BackupChanged(is_begun=False))
    net.until(lambda: in_audit(a)[-1:] == [b"2"])
    assert a.metric("durable_dropped") == 0
