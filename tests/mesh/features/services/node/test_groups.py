"""Groups: each message goes to one member of each group, at any node."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from mesh.errors import LocalError
from mesh.features.services.node.groups import Groups
from mesh.features.services.node.serving_replies import NOBODY
from mesh.mapping.rules import Rule
from mesh.names import check_group, is_group
from mesh.wire.commands import Answer
from mesh.wire.envelope import LOCAL_ONLY, Envelope
from tests.mesh.features.services.node.user import User
from tests.simulated_client import client_of
from tests.simulation import SimNetwork

WORKERS = "workers\n\njobs/#"


def test_each_message_goes_to_one_member_and_each_group_gets_all() -> None:
    net = SimNetwork()
    a, b, c = net.mesh("a", "b", "c")
    workers = [User(node, f"w-{node.name}") for node in (a, b, c)]
    loggers = [User(node, f"l-{node.name}") for node in (a, b)]
    for worker in workers:
        worker.serve(WORKERS, credit=1000)
    for logger in loggers:
        logger.serve("loggers\n\n#", credit=1000)
    plain = client_of(b, "plain")
    seen = plain.subscribe(pattern="jobs/#")
    m = client_of(a, "publisher")
    for n in range(60):
        m.publish("jobs/1", b"%d" % n)
    m.settled()
    wanted = sorted(b"%d" % n for n in range(60))
    net.until(lambda: sorted(x for w in workers for x in w.contents()) == wanted)
    net.until(lambda: sorted(x for one in loggers for x in one.contents()) == wanted)
    net.until(lambda: sorted(seen.contents) == wanted)
    assert all(worker.contents() for worker in workers)
    m.publish("others/1", b"no job")
    net.until(lambda: sum(len(one.contents()) for one in loggers) == 61)
    net.run(1)
    assert sum(len(worker.contents()) for worker in workers) == 60


def test_what_has_a_master_elsewhere_is_shared_out_there_once() -> None:
    rules = (Rule("a", domains=("D",)),)
    net = SimNetwork()
    _, b, c = net.mesh("a", "b", "c", rules=rules)
    workers = [User(b, "w-b"), User(c, "w-c")]
    for worker in workers:
        worker.serve("workers\nD\n#")
    m = client_of(b, "publisher")
    for n in range(20):
        m.publish("k", b"%d" % n, domain="D")
    m.settled()
    net.until(lambda: sum(len(worker.contents()) for worker in workers) == 20)
    net.run(2)
    assert sorted(x for w in workers for x in w.contents()) == sorted(b"%d" % n for n in range(20))


def test_several_masters_give_it_to_one_member_all_the_same() -> None:
    rules = (Rule("a", domains=("D",)), Rule("b", domains=("D",)))
    net = SimNetwork()
    a, b, c = net.mesh("a", "b", "c", rules=rules)
    workers = [User(node, f"w-{node.name}") for node in (a, b, c)]
    for worker in workers:
        worker.serve("workers\nD\n#")
    m = client_of(c, "publisher")
    for n in range(20):
        m.publish("k", b"%d" % n, domain="D")
    m.settled()
    net.until(lambda: sum(len(worker.contents()) for worker in workers) == 20)
    net.run(2)
    assert sorted(x for w in workers for x in w.contents()) == sorted(b"%d" % n for n in range(20))


def test_a_master_whose_copy_is_second_gives_nothing_to_groups_though_the_other_is_dead_by_then() -> None:
    rules = (Rule("a", domains=("D",)), Rule("b", domains=("D",)))
    net = SimNetwork()
    a, b, c = net.mesh("a", "b", "c", rules=rules)
    worker = User(c, "w-c")
    worker.serve("workers\nD\n#")
    b.kill()
    net.run(15)
    m = client_of(c, "publisher")
    m.publish("k", b"job", domain="D", persistent=True)
    net.until(lambda: worker.contents() == [b"job"])
    a.kill()
    net.run(15)
    b.start()
    net.until(lambda: b.metric("published") == 1)
    net.run(2)
    assert worker.contents() == [b"job"]


def test_what_a_node_refuses_goes_to_another_one_until_it_has_been_refused_too_often() -> None:
    net = SimNetwork()
    a, b, c = net.mesh("a", "b", "c")
    for node in (b, c):
        User(node, f"w-{node.name}").serve(WORKERS)
    m, sent = client_of(a, "publisher"), list[tuple[bytes, Envelope]]()
    m.publish("other", b"")
    net.run(1)
    groups = next(part for part in a.core.parts.context.face if isinstance(part, Groups))
    with patch.object(groups._departing, "add", lambda uuid, e, ttl: sent.append((uuid, e))):
        m.publish("jobs/1 jobs/1 jobs/1 jobs/1", b"0", b"1", b"2", b"3")
        net.run(1)
        (uuid, e), (other, e2) = sent
        assert {uuid, other} == {b.uuid, c.uuid} and groups._count == 4
        groups.outcome(other, e2.stream, Answer(e2.domain, 1, 9))  # an answer to both of its messages
        groups.outcome(other, e2.stream, Answer(e2.domain, 1, 9))
        assert groups._count == 2 and a.metric("unasked") == 1
        numbers = e.number_list(range(e.count))
        for at in (other, uuid, other):
            groups.outcome(uuid if at == other else other, e.stream, Answer(e.domain, 1, 9, NOBODY))
            assert sent[-1][0] == at and sent[-1][1].number_list(range(2)) == numbers
        groups.outcome(other, e.stream, Answer(e.domain, 1, 9, NOBODY))
    assert (a.metric("group_dropped"), groups._count, len(groups._flight)) == (2, 0, 0)


def test_what_stays_at_its_node_is_for_members_there_only() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    near, far = User(a, "near"), User(b, "far")
    near.serve(WORKERS)
    far.serve(WORKERS)
    m = client_of(a, "publisher")
    for n in range(10):
        m.publish("jobs/1", b"%d" % n, flags=LOCAL_ONLY)
    m.settled()
    net.until(lambda: len(near.contents()) == 10)
    net.run(1)
    assert far.contents() == []


def test_when_the_last_member_of_a_node_goes_the_others_get_all() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    near, far = User(a, "near"), User(b, "far")
    near.serve(WORKERS)
    far.serve(WORKERS)
    far.vanish()
    m = client_of(a, "publisher")
    for n in range(10):
        m.publish("jobs/1", b"%d" % n)
    m.settled()
    net.until(lambda: len(near.contents()) == 10)
    near.unserve(WORKERS)
    m.publish("jobs/1", b"for nobody")
    m.settled()
    assert a.core.parts.router.receivers.has_groups is False


def test_persistent_messages_are_dropped_from_the_store_when_they_were_given() -> None:
    net = SimNetwork()
    (a,) = net.mesh("a")
    worker = User(a, "worker")
    worker.serve(WORKERS)
    m = client_of(a, "publisher")
    for n in range(10):
        m.publish("jobs/1", b"%d" % n, persistent=True)
    m.settled()
    net.until(lambda: len(worker.contents()) == 10)
    assert a.metric("stored_envelopes") == 0


def test_a_slow_member_has_no_more_than_its_credit() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    slow, quick = User(a, "slow"), User(b, "quick")
    slow.serve(WORKERS, credit=2)
    quick.serve(WORKERS, credit=1000)
    m = client_of(a, "publisher")
    for n in range(100):
        m.publish("jobs/1", b"%d" % n)
    m.settled()
    net.run(2)
    assert len(slow.contents()) == 2


@pytest.mark.parametrize(
    "name",
    [
        "w",
        "w\n",
        "\n\n#",
        "w\n\n",
        "a b\n\n#",
        "w\n\na/#/b",
        "w\nd\x01\n#",
        "w\n\n" + "x" * 600,
        "\n",
        "w\nd",
    ],
)
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(LocalError):
        check_group(name)
    net = SimNetwork()
    (a,) = net.mesh("a")
    if is_group(name):
        user = User(a, "u")
        request = user.serve(name)
        said = user.said(request)
        assert said is not None and said.code


def test_it_is_confirmed_when_others_know_it() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    worker = User(b, "worker")
    worker.serve(WORKERS)  # returns when it is confirmed
    assert a.core.parts.members.members(WORKERS) == {b.uuid: 1}
