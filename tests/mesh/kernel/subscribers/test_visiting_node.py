"""Messages of a node that a session has visited, and a late HELLO of a client that has moved on."""

from typing import Any

import pytest

from mesh.kernel.subscribers.log_scan import PAGE
from mesh.kernel.subscribers.resume_source import Answering, ResumeSource
from mesh.wire.calls import AskResume
from tests.mesh.features.services.node.user import User
from tests.mesh.kernel.stranger import Stranger
from tests.simulated_client import SimClient
from tests.simulation import SimNetwork, SimNode
from tools.simulator.clients.partner import Partner
from tools.simulator.history import History
from tools.simulator.world.weather import HarshNetwork


def moved(joe: SimClient, to: SimNode) -> None:
    joe.move(to.ipc)
    joe.net.until(lambda: joe.is_up and joe.core.line.home == to.name)
    joe.net.until(lambda: not joe.core.visits.is_moving)


def test_a_server_that_has_moved_replies_to_a_client_of_a_third_node() -> None:
    net = HarshNetwork(1)
    a, b, d = (net.node(name, "a") for name in "abd")
    net.run(3)
    joe = Partner(net, a.ipc, "joe", History(), 0, "", [b.ipc]).connected()
    joe.serve("joe.0", "calc/add", 8, False, 0.0)
    moved(joe, b)
    net.run(1)
    ann = User(d, "ann")
    ann.request("calc/add", b"2")
    net.until(lambda: ann.replies)
    assert [content for _, content, _, _ in ann.replies] == [b"re 2"]


def test_what_a_session_published_where_it_was_is_delivered_after_it_has_moved_on() -> None:
    net = SimNetwork()
    a, b, d = net.mesh("a", "b", "d")
    ann = SimClient(net, d.ipc, "ann").connected().subscribed("k")
    joe = SimClient(net, a.ipc, "joe", others=[b.ipc, d.ipc]).connected()
    moved(joe, b)
    net.cut("b", "d")
    joe.publish("k", b"1", persistent=True)
    net.until(lambda: joe.state(1) == "OK")
    moved(joe, a)
    net.heal()
    net.until(lambda: ann.contents == [b"1"])
    assert d.metric("forged") == 0


def test_a_node_that_restarts_can_still_send_what_a_visitor_published() -> None:
    net = SimNetwork()
    a, b, d = net.mesh("a", "b", "d")
    ann = SimClient(net, d.ipc, "ann").connected().subscribed("k")
    joe = SimClient(net, a.ipc, "joe", others=[b.ipc]).connected()
    net.cut("b", "d")
    moved(joe, b)
    joe.publish("k", b"1", persistent=True)
    net.until(lambda: joe.state(1) == "OK")
    moved(joe, a)
    net.run(1)
    b.restart()
    net.heal()
    net.until(lambda: ann.contents == [b"1"])
    assert d.metric("forged") == 0


def test_a_session_erases_a_topic_of_other_nodes_at_the_node_that_it_visits() -> None:
    net = SimNetwork()
    a, b, d = net.mesh("a", "b", "d")
    ann = SimClient(net, d.ipc, "ann").connected()
    joe = SimClient(net, a.ipc, "joe", others=[b.ipc]).connected()
    bob = SimClient(net, a.ipc, "bob").connected().subscribed("k")
    ann.publish("k", b"1", persistent=True)
    net.until(lambda: bob.contents == [b"1"])
    moved(joe, b)
    assert joe.erase("k") == ["k"]
    net.until(lambda: [message.is_erased for message in bob.got] == [False, True])
    assert [node.metric("forged") for node in (a, b, d)] == [0, 0, 0]


def test_a_node_that_restarts_forgets_a_session_without_subscriptions_that_does_not_come_back() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    joe, ann = (SimClient(net, a.ipc, name, others=[b.ipc]).connected() for name in ("joe", "ann"))
    for client in (joe, ann):
        moved(client, b)
    net.run(2)
    b.restart()
    joe.close()
    net.until(lambda: ann.is_up)
    assert last_certificates(b) == 2
    net.until(lambda: last_certificates(b) == 1, 200)
    net.run(100)
    assert last_certificates(b) == 1


def test_a_session_that_does_not_come_back_to_a_restarted_node_ends_where_it_was_before() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    joe = SimClient(net, a.ipc, "joe", others=[b.ipc]).connected()
    joe.subscribed("k")
    net.run(2)
    a.kill()
    net.until(lambda: b.metric("visiting_sessions"))
    for node in (a, b):
        net.cut(node.name, joe.name)
    net.run(1)  # its certificate is on disk
    b.restart()
    a.start()
    net.until(lambda: a.metric("sessions_held"))
    net.until(lambda: joe.stream not in a.core.parts.sessions.by_stream, 300)
    assert not a.metric("sessions_held")


def last_certificates(node: SimNode) -> int:
    """Return the number of stored certificates that last until their sessions end."""
    return sum(key[:1] == b"v" for key in node.disk.store.load().tables["feed"])


def test_a_hello_from_before_the_last_visit_is_refused() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    joe = SimClient(net, a.ipc, "joe", others=[b.ipc]).connected()
    before = joe.core.line.handshake.hello(0)
    moved(joe, b)
    late = Stranger(a)
    late.say(before)
    assert late.refusal == "MOVED"
    assert joe.stream not in a.core.parts.sessions.by_stream


def test_a_session_that_an_old_hello_opened_is_not_kept_for_the_node_that_it_visits() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b", linger=5.0)
    joe = SimClient(net, a.ipc, "joe", others=[b.ipc]).connected()
    before = joe.core.line.handshake.hello(0)
    moved(joe, b)
    net.cut("a", "b")
    a.restart()  # it does not know of the move
    net.run(2)
    Stranger(a).say(before)
    assert joe.stream in a.core.parts.sessions.by_stream
    net.heal()
    net.until(lambda: joe.stream not in a.core.parts.sessions.by_stream, limit=30.0)
    assert a.metric("sessions_held") == 0


def test_a_visited_node_that_restarts_sends_nothing_before_the_older_messages_of_the_resumed_log() -> None:
    net = SimNetwork()
    a, b, d = net.mesh("a", "b", "d")
    joe = SimClient(net, a.ipc, "joe", others=[b.ipc]).connected()
    sub, bob = joe.subscribed(pattern="#"), SimClient(net, b.ipc, "bob").connected().subscribed("k2")
    net.cut("b", "d")
    joe.move(b.ipc)
    net.until(lambda: joe.is_up and joe.core.line.home == "b")
    ann = SimClient(net, d.ipc, "ann").connected()
    ann.publish("k1", b"1", persistent=True)  # d does not know yet that b wants it
    ann.publish("k2", b"2", persistent=True)
    ann.settled()
    net.run(1)
    b.restart()
    net.heal()
    for node in ("a", "b"):
        net.cut(joe.name, node)
    net.until(lambda: bob.contents == [b"2"])
    net.heal()
    net.until(lambda: len(sub.contents) == 2)
    assert (sub.contents, sub.dropped) == ([b"1", b"2"], 0)


def test_an_attach_that_was_lost_with_its_connection_still_resumes_all_subscriptions() -> None:
    net = SimNetwork()
    a, b, d = net.mesh("a", "b", "d")
    joe = SimClient(net, a.ipc, "joe", others=[b.ipc]).connected()
    sub, ann = joe.subscribed("k", initial=False), SimClient(net, d.ipc, "ann").connected()
    a.kill()
    ann.publish("k", b"1", persistent=True)
    ann.settled()
    net.until(lambda: joe.is_up and joe.core.line.home == "b")
    net.break_all(joe.name, "b")  # ATTACH and SUBSCRIBE are in flight
    net.until(lambda: sub.contents == [b"1"])


def test_a_visited_node_that_restarts_resumes_again_after_all_former_nodes_were_released() -> None:
    net = SimNetwork()
    a, b, d = net.mesh("a", "b", "d", window_count=2)
    joe = SimClient(net, a.ipc, "joe", others=[b.ipc]).connected()
    sub, ann = joe.subscribed("k", initial=False, rate=0.0), SimClient(net, d.ipc, "ann").connected()
    net.cut(joe.name, "a")
    for content in (b"1", b"2", b"3", b"4"):
        ann.publish("k", content, persistent=True)
        ann.settled()
    moved(joe, b)
    assert d.metric("resume_pins") == 1, "joe has two items, and reads none"
    b.restart()
    joe.use(sub)
    net.until(lambda: sub.contents == [b"1", b"2", b"3", b"4"])


def test_a_log_without_a_position_is_resumed_from_the_pin_of_an_earlier_visit() -> None:
    net = SimNetwork()
    a, b, c, d = net.mesh("a", "b", "c", "d")
    joe = SimClient(net, a.ipc, "joe", others=[b.ipc, c.ipc]).connected()
    sub, ann = joe.subscribed("k", initial=False), SimClient(net, d.ipc, "ann").connected()
    net.cut(joe.name, "a")
    ann.publish("k", b"1", persistent=True)
    ann.settled()
    joe.move(b.ipc)
    net.until(lambda: d.metric("resume_pins"))
    net.cut(joe.name, "b")  # the page does not arrive
    net.until(lambda: a.metric("sessions_held") == 0 and joe.stream not in a.core.parts.sessions.by_stream)
    b.kill()
    net.until(lambda: sub.contents == [b"1"])


def test_one_page_has_all_matches_of_several_reads_of_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    net = SimNetwork()
    a, b, d = net.mesh("a", "b", "d")
    joe = SimClient(net, a.ipc, "joe", others=[b.ipc]).connected()
    sub = joe.subscribed("k")
    SimClient(net, d.ipc, "bob").connected().subscribed(pattern="#", rate=0.0)
    net.cut(joe.name, "a")
    ann = SimClient(net, d.ipc, "ann").connected()
    for n in range(3 * PAGE):
        ann.publish("k" if n % PAGE == 1 else "other", b"%d" % n, persistent=True)
        ann.settled()
    counts, answer = list[int](), ResumeSource._answer

    def counted(source: ResumeSource, answering: Answering) -> None:
        counts.extend(len(page.envelopes) for page in answering.pages if not isinstance(page, str))
        answer(source, answering)

    monkeypatch.setattr(ResumeSource, "_answer", counted)
    a.kill()
    net.until(lambda: len(sub.contents) == 3)
    net.run(1)
    assert [count for count in counts if count] == [3]


def test_the_subscriptions_of_a_session_share_questions_and_an_empty_log_is_not_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, resume = list[tuple[str, int]](), ResumeSource.resume

    def counted(source: ResumeSource, ask: AskResume, *rest: Any) -> None:
        asked.append((source._context.me.name, sum(not row.end for row in ask.rows)))
        resume(source, ask, *rest)

    monkeypatch.setattr(ResumeSource, "resume", counted)
    net = SimNetwork()
    a, b, d = net.mesh("a", "b", "d")
    joe = SimClient(net, a.ipc, "joe", others=[b.ipc]).connected()
    subs = [joe.subscribed(f"k{n}") for n in range(20)]
    net.cut(joe.name, "a")
    ann = SimClient(net, d.ipc, "ann").connected()
    for n in range(20):
        ann.publish(f"k{n}", b"%d" % n, persistent=True)
    ann.settled()
    a.kill()
    net.until(lambda: all(len(sub.contents) == 1 for sub in subs))
    first = [(node, rows) for node, rows in asked if rows]
    assert {node for node, _ in first} == {"d"}
    assert sum(rows for _, rows in first) == 20 > 2 * len(first)
