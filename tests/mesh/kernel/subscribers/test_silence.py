"""Silent clients: which ones a node closes, and which may be busy."""

import pytest

from mesh.kernel.subscribers.silence import is_given_up
from tests.mesh.features.queues.node.worker import Worker, a_node
from tests.simulated_client import SimClient, client_of
from tests.simulation import SimNode

SILENCE, BUSY = 10.0, 1800.0  # s, the defaults


@pytest.mark.parametrize(
    ("unheard", "has_work", "silence", "busy", "ends"),
    [
        (10.0, False, 10.0, 1800.0, False),
        (10.1, False, 10.0, 1800.0, True),
        (10.1, True, 10.0, 1800.0, False),
        (1800.0, True, 10.0, 1800.0, False),
        (1800.1, True, 10.0, 1800.0, True),
        (20.0, True, 30.0, 10.0, False),  # work never shortens the limit
    ],
)
def test_a_client_with_work_may_be_silent_for_longer(
    unheard: float, has_work: bool, silence: float, busy: float, ends: bool
) -> None:
    assert is_given_up(unheard, has_work, silence, busy) is ends


def is_connected(node: SimNode, worker: Worker) -> bool:
    return node.core.parts.sessions.by_stream[worker.stream].conn is not None


def test_a_consumer_whose_loop_is_blocked_keeps_its_job_and_may_ack_it() -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs")
    joe.take("jobs", credit=1)
    boss.put("jobs", b"1")
    net.until(lambda: joe.contents() == [b"1"])
    ann = Worker(a, "ann")
    ann.take("jobs")
    joe.is_blocked = True
    net.run(25.0)
    assert (is_connected(a, joe), ann.contents()) == (True, [])
    assert joe.settle(1, 1) == []
    info = boss.info("jobs")
    assert (info["ready"], info["out"], info["acked"]) == (0, 0, 1)


def test_a_consumer_that_is_blocked_for_too_long_loses_its_job() -> None:
    net, a = a_node(busy=60.0)
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs")
    joe.take("jobs", credit=1)
    boss.put("jobs", b"1")
    net.until(lambda: joe.contents() == [b"1"])
    ann = Worker(a, "ann")
    ann.take("jobs")
    joe.is_blocked = True
    net.run(55.0)
    assert ann.contents() == []
    net.run(15.0)
    assert (is_connected(a, joe), ann.contents(), ann.tries[1]) == (False, [b"1"], [1])
    assert any("joe" in note and "the client is disconnected" in note for note in a.notes)


def test_a_consumer_that_has_nothing_is_given_up_soon() -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs")
    joe.take("jobs")
    boss.put("jobs", b"1")
    net.until(lambda: joe.contents() == [b"1"])
    assert joe.settle(1, 1) == []
    joe.is_blocked = True
    net.run(SILENCE + 4)
    assert not is_connected(a, joe)


@pytest.mark.parametrize("address", ["x", "workers\n\njobs/#"])
def test_a_service_and_a_member_of_a_group_keep_what_they_have_begun(address: str) -> None:
    net, a = a_node()
    server, asker = Worker(a, "server"), Worker(a, "asker")
    server.serve(address, credit=1)
    if address == "x":
        asker.request("x", b"1", ttl=60_000)
    else:
        client_of(a, "publisher").publish("jobs/1", b"1")
    net.until(lambda: server.contents() == [b"1"])
    server.is_blocked = True
    net.run(25.0)
    assert is_connected(a, server)
    if address == "x":
        server.reply((1, b"a"))
        net.until(lambda: len(asker.replies) == 1)
        assert asker.replies[0][1:3] == (b"a", "")
    else:
        server.done(1, 1)
        net.run(SILENCE + 4)
        assert not is_connected(a, server), "it has nothing any more"


def test_a_node_says_once_that_a_client_with_work_is_silent() -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs")
    joe.take("jobs", credit=1)
    boss.put("jobs", b"1")
    net.until(lambda: joe.contents() == [b"1"])
    joe.is_blocked = True
    net.run(60.0)
    said = [note for note in a.notes if "joe" in note and "the node waits" in note]
    assert len(said) == 1 and "timing.busy" in said[0]


def test_who_else_wants_the_session_of_a_client_that_works_waits_for_it() -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs")
    joe.take("jobs", credit=1)
    boss.put("jobs", b"1")
    net.until(lambda: joe.contents() == [b"1"])
    joe.is_blocked = True  # it does not answer PING either
    other = SimClient(net, a.ipc, "joe", session=_number(joe))
    net.run(25.0)
    assert {(refused.code, refused.final) for refused in other.refusals} == {("SESSION_IN_USE", False)}
    assert is_connected(a, joe) and not other.is_up
    assert joe.settle(1, 1) == []


def _number(worker: Worker) -> int:
    return int(worker.session.rsplit("/", 1)[1])
