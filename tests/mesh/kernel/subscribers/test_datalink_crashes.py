"""Data connections over crashes: nothing that is owed is lost, or arrives twice."""

from collections.abc import Iterable

from msgspec.structs import replace

from mesh.kernel.context.conn import Conn
from mesh.operations import Append, Op
from tests.mesh.envelopes import envelope
from tests.mesh.kernel.masters import RUGBY, cluster
from tests.simulated_client import client_of
from tests.simulation import Pipe, SimNetwork, SimNode

TINY = {"window_bytes": 100_000, "window_count": 4}


def link(one: SimNode, other: SimNode, role: str) -> Conn:
    """Return the connection with this role, as the first node sees it."""
    conn = one.core.parts.neighbours.peers[other.uuid].conns[role]
    assert conn is not None
    return conn


def pipe_of(net: SimNetwork, one: SimNode, other: SimNode, role: str) -> Pipe:
    dialler, listener = (one, other) if link(one, other, role).dialled else (other, one)
    key = link(listener, dialler, role).key
    (pipe,) = [pipe for pipe in net.pipes if pipe.is_open and key in pipe.keys]
    return pipe


def open_links(one: SimNode, other: SimNode) -> list[Conn]:
    return [conn for conn in one.core.parts.neighbours.peers[other.uuid].conns.values() if conn is not None]


def test_a_subscription_is_confirmed_only_when_the_master_will_not_forget_it() -> None:
    net = SimNetwork()
    net.disk = (0.3, 0.3)
    a, b = net.mesh("a", "b")
    subscription = client_of(b).subscribed("k")
    net.cut("a", "b")
    a.restart()
    publisher = client_of(a, "pub")
    publisher.publish("k", b"owed", persistent=True)
    publisher.settled()
    net.heal()
    net.until(lambda: subscription.contents == [b"owed"])


def test_a_subscription_is_confirmed_only_when_its_own_node_will_not_forget_it() -> None:
    net = SimNetwork()
    net.disk = (0.3, 0.3)
    a, b = net.mesh("a", "b")
    subscription = client_of(b).subscribed("k")
    net.cut("b", next(p.ends[0].name for p in net.pipes if p.ends[0].name.startswith("client")))
    b.kill()
    publisher = client_of(a, "pub")
    publisher.publish("k", b"owed", persistent=True)
    publisher.settled()
    b.start()
    net.run(20)
    assert (subscription.got, a.metric("stored_envelopes")) == ([], 1), "it waits for its client"
    net.heal()
    net.until(lambda: subscription.contents == [b"owed"])


def test_a_subscription_is_given_up_only_when_its_node_will_not_remember_it() -> None:
    net = SimNetwork()
    (a,) = net.mesh("a")
    client = client_of(a, "sub")
    subscription = client.subscribed("k")
    net.run(5)
    client.unsubscribe(subscription)
    net.until(lambda: not client.calls)
    a.restart()
    publisher = client_of(a, "pub")
    publisher.publish("k", b"owed to nobody", persistent=True)
    publisher.settled()
    net.run(10)
    assert (a.metric("subscriptions"), a.metric("stored_envelopes")) == (0, 0)


def test_a_persistent_message_is_not_answered_before_it_is_on_the_disk() -> None:
    net = SimNetwork()
    net.disk = (0.3, 0.3)
    a, _ = net.mesh("a", "b")
    publisher = client_of(a, "pub")
    publisher.publish("k", b"1", persistent=True)
    net.run(0.2)
    assert publisher.state(1) == ""
    net.run(0.2)
    assert publisher.state(1) == "OK"


def comes_again(net: SimNetwork, a: SimNode, b: SimNode) -> None:
    """Check that a restarted b receives again what an earlier boot of a owes it."""
    subscription = client_of(b, "sub").subscribed("k", rate=0)
    publisher = client_of(a, "pub")
    for n in range(3):
        publisher.publish("k", b"%d" % n, persistent=True)
    publisher.settled()
    net.run(2)
    a.restart()
    net.run(20)
    assert a.metric("stored_envelopes") == 3, "its client has used up none"
    subscription.forget()  # as if they had not reached the client
    b.restart()
    net.run(20)
    assert [content for batch in subscription.waiting for content in batch.contents()] == [b"0", b"1", b"2"]


def test_what_a_peer_had_from_an_earlier_boot_comes_again_when_the_peer_goes_down_too() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    comes_again(net, a, b)


def test_trial_D_it_comes_again_whichever_of_the_two_has_dialled() -> None:
    # A welcomed node learns its own boot: the new process has read it in HELLO, and has no messages.
    net = SimNetwork()
    b, a = net.mesh("b", "a")
    comes_again(net, a, b)


def test_trial_D_a_node_that_is_owed_nothing_any_more_may_come_back_as_the_same_process() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b", peer_linger=10.0)
    subscription = client_of(b, "sub").subscribed("k")
    publisher = client_of(a, "pub")
    publisher.publish("k", b"0")
    net.until(lambda: b.metric("relayed") == 1)
    net.cut("a", "b")  # before the acknowledgement arrives
    net.run(60)
    net.heal()
    net.until(lambda: len(a.alive) == len(b.alive) == 1)
    net.run(10)
    publisher.publish("k", b"1", persistent=True)
    net.until(lambda: subscription.contents == [b"0", b"1"])
    net.until(lambda: a.metric("stored_envelopes") == 0)


def test_what_a_peer_still_has_is_not_sent_again_after_a_restart_of_its_master() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    subscriber = client_of(b, "sub")
    subscription = subscriber.subscribed("k", rate=0)
    publisher = client_of(a, "pub")
    for n in range(3):
        publisher.publish("k", b"%d" % n, persistent=True)
    publisher.settled()
    net.run(2)
    a.restart()
    net.run(20)
    assert (a.metric("stored_envelopes"), b.metric("repeated")) == (3, 0)
    subscriber.use(subscription)
    net.until(lambda: a.metric("stored_envelopes") == 0)
    assert subscription.contents == [b"0", b"1", b"2"]


def test_lost_acknowledgements_do_not_stop_a_link_for_ever() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b", **TINY)
    subscription = client_of(b, "sub").subscribed("k")
    publisher = client_of(a, "pub")
    for n in range(4):
        publisher.publish("k", b"%d" % n)
    net.until(lambda: b.metric("relayed") == 4)
    net.cut("a", "b")  # before the acknowledgement arrives
    net.run(0.1)
    net.break_all("a", "b")
    net.heal()
    for n in range(4, 8):
        publisher.publish("k", b"%d" % n)
    net.until(lambda: len(subscription.got) == 8)


def test_lost_acknowledgements_do_not_stop_a_client_for_ever() -> None:
    net = SimNetwork()
    a = net.node("a", **TINY)
    client = client_of(a, "sub")
    subscription = client.subscribed("k")
    publisher = client_of(a, "pub")
    for n in range(4):
        publisher.publish("k", b"%d" % n)
    net.until(lambda: len(subscription.got) == 4)
    net.cut("a", client.name)
    net.run(0.1)
    net.break_all(client.name)
    net.heal()
    for n in range(4, 8):
        publisher.publish("k", b"%d" % n)
    net.until(lambda: len(subscription.got) == 8)


def test_a_login_of_which_only_one_side_knows_that_it_ended_is_found_out() -> None:
    for seed in (14, *range(160)):  # until a has dialed control and b data, and a does not notice
        net = SimNetwork(seed)
        a, b = net.mesh("a", "b")
        client_of(b).subscribed("anything")
        net.cut("a", "b")
        net.run(12.0)
        net.heal()
        net.until(lambda: len(open_links(a, b)) == len(open_links(b, a)) == 2)  # noqa: B023
        if not (link(a, b, "control").dialled and link(b, a, "data").dialled):
            continue
        subscription = client_of(a, "sub").subscribed("k")
        pipe_of(net, a, b, "data").lose()
        net.run(0.01)
        if len(open_links(a, b)) == 2:
            break
    else:
        raise AssertionError("chance never wanted it")
    # b cannot dial a. It asks a over the control connection to dial, but a sees no reason to.
    publisher = client_of(b, "pub")
    publisher.publish("k", b"1", persistent=True)
    publisher.publish("k", b"2")
    net.until(lambda: subscription.contents == [b"1", b"2"], limit=15.0)


def test_after_a_crash_of_everybody_all_that_was_answered_arrives() -> None:
    net = SimNetwork(7)
    a, b, c = net.mesh("a", "b", "c")
    subscriptions = [client_of(node, "sub").subscribed("k", rate=50.0) for node in (a, b, c)]
    publisher = client_of(a, "pub")
    for n in range(40):
        publisher.publish("k", b"%d" % n, persistent=True)
    net.run(0.1)
    for node in (a, b, c):
        node.kill()
    net.run(1)
    for node in (c, b, a):
        node.start()
    publisher.settled()
    net.until(lambda: all(len(s.got) == 40 for s in subscriptions))
    assert all(s.contents == [b"%d" % n for n in range(40)] for s in subscriptions)


def test_a_refusal_whose_answer_was_lost_is_said_again() -> None:
    net = SimNetwork()
    a = net.node("a")
    client = client_of(a, "pub")
    subscription = client_of(a, "sub").subscribed("k")
    a.disk.is_full = True
    client.publish("k", b"1", persistent=True)
    client.publish("k", b"2")
    net.until(lambda: a.metric("refused") == 1)
    net.break_all(client.name)  # the client misses the refusal, and asks again
    a.disk.is_full = False
    client.settled()
    # Accepting it now would deliver it behind messages that were published after it.
    assert (client.state(1), client.state(2)) == ("STORE_FULL", "OK")
    client.publish("k", b"1 again", persistent=True)
    net.until(lambda: subscription.contents == [b"2", b"1 again"])


def test_a_refusal_whose_answer_was_lost_is_said_again_after_a_restart() -> None:
    net = SimNetwork()
    a = net.node("a")
    client = client_of(a, "pub")
    client_of(a, "sub").subscribed("k")
    a.disk.is_full = True
    client.publish("k", b"1", persistent=True)
    net.until(lambda: a.metric("refused") == 1)
    a.disk.is_full = False
    client.publish("k", b"2", persistent=True)
    net.until(lambda: not a.core.parts.disk.storing)
    a.restart()  # before the client has either answer
    client.settled()
    assert (client.state(1), client.state(2)) == ("STORE_FULL", "OK")


def test_what_was_refused_just_before_a_crash_is_not_called_known() -> None:
    # The message stored behind it, before the refusal was acknowledged, must not count its number in.
    states = [killed_while_refusing(SimNetwork(seed)) for seed in range(3)]
    assert "OK" in states, "it was taken when it came again"


def killed_while_refusing(net: SimNetwork) -> str:
    """Return the final state of a message that found no space and was then sent again."""
    a = net.node("a")
    client = client_of(a, "pub")
    subscription = client_of(a, "sub").subscribed("k")
    a.disk.is_full = a.disk.has_reserve = True
    client.publish("k", b"is owed to somebody", persistent=True)
    client.publish("j", b"is owed to nobody, and needs no room", persistent=True)
    net.until(lambda: any(isinstance(op, Append) for job in a.worker.batch for op in getattr(job, "ops", ())))
    a.kill()
    a.disk.is_full = False
    a.start()
    client.settled()
    net.run(5)
    assert subscription.contents == [b"is owed to somebody"] * (client.state(1) == "OK")
    return client.state(1)


def test_what_is_stored_behind_a_refusal_is_handed_on_in_its_place_in_the_log() -> None:
    # Otherwise later messages of others pass it, and its position counts as settled for their receivers.
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    ears = [client_of(node, "ear").subscribed("k") for node in (a, b)]
    joe, jim = client_of(a, "joe"), client_of(a, "jim")
    real = a.disk.refuses

    def full_for_one(ops: Iterable[Op]) -> bool:
        return real(ops) or any(isinstance(op, Append) and b"too large" in op.body for op in ops)

    a.disk.refuses = full_for_one  # type: ignore[method-assign]
    net.disk = (0.3, 0.3)
    joe.publish("k", b"too large", persistent=True)
    joe.publish("k", b"behind it", persistent=True)
    net.until(lambda: a.core.parts.disk.storing == 2)
    jim.publish("k", b"another's", persistent=True)
    joe.settled()
    jim.settled()
    assert (joe.state(1), joe.state(2), jim.state(1)) == ("STORE_FULL", "OK", "OK")
    net.until(lambda: all(sorted(ear.contents) == [b"another's", b"behind it"] for ear in ears))
    assert [ear.dropped for ear in ears] == [0, 0]


def test_what_another_way_still_holds_is_news_though_the_log_has_come_further() -> None:
    net = SimNetwork()
    a, *_ = net.mesh("a", "b", "c")
    ear = client_of(a, "ear").subscribed("k")
    peers = {peer.node.name: peer for peer in a.core.parts.neighbours.peers.values()}
    master = b"m" * 16
    content = {5: ("b", b"early"), 21: ("c", b"late"), 9: ("b", b"held"), 20: ("c", b"dropped")}
    for position, (way, text) in content.items():
        e = envelope("k", [text], first=position, persistent=True, stream=b"s" * 16)
        a.core.parts.links._receive(peers[way], master, position, 0, e)
    a._carry_out_all()
    net.until(lambda: len(ear.got) == 3)
    net.run(1)
    # Late items by the same route are dropped before they are relayed. By another route they are new.
    assert ear.contents == [b"early", b"late", b"held"]
    assert ear.dropped == 0


def test_trial_D_what_another_way_still_holds_is_news_behind_the_next_way_as_well() -> None:
    c = cluster("heron", "avalon", "frodo", "bilbo")
    ear, frodo, master = c.client("bilbo", "ear").subscribed("k", domain=RUGBY), c["frodo"], b"m" * 16
    content = {5: ("heron", b"early"), 21: ("avalon", b"late"), 9: ("heron", b"held")}
    peers = {peer.node.name: peer for peer in frodo.core.parts.neighbours.peers.values()}
    for position, (way, text) in content.items():
        e = envelope("k", [text], first=position, persistent=True, stream=b"s" * 16, domain=RUGBY)
        said = replace(e, sender=f"/node/{way}/client/joe/session/1")
        frodo.core.parts.links._receive(peers[way], master, position, 0, said)
    frodo._carry_out_all()
    c.net.until(lambda: ear.contents == [b"early", b"late", b"held"])
    assert ear.dropped == 0


def test_subscriptions_made_while_the_disk_is_full_are_written_when_there_is_room() -> None:
    net = SimNetwork()
    a = net.node("a")
    a.disk.is_full = True
    client = client_of(a, "sub")
    subscription = client.subscribed("k")
    publisher = client_of(a, "pub")
    publisher.publish("k", b"refused", persistent=True)
    publisher.settled()
    a.disk.is_full = False
    net.run(5)
    a.restart()
    publisher.publish("k", b"taken", persistent=True)
    net.until(lambda: subscription.contents == [b"taken"])


def test_what_waits_for_one_stopped_subscriber_does_not_fill_the_memory_of_its_master() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b", window_bytes=2000, window_count=8, backlog_bytes=5000)
    stopped = client_of(b, "stopped").subscribed("k", rate=0)
    quick = client_of(b, "quick").subscribed("k")
    publisher = client_of(a, "pub")
    for n in range(200):
        publisher.publish("k", b"%d" % n, persistent=True)
    publisher.settled()
    net.until(lambda: len(quick.got) == 200)
    net.run(3)
    assert a.metric("stored_envelopes") < 100
    assert stopped.got == []


def test_trial_D_a_gap_of_more_messages_than_can_be_told_ends_no_connection() -> None:
    net = SimNetwork()
    heron, frodo, golan = net.mesh("heron", "frodo", "golan")
    publisher, s = client_of(heron, "pub"), client_of(frodo, "sub").subscribed("k")
    link = frodo.core.parts.neighbours.peers[golan.uuid]
    gaps = frodo.core.parts.links._gaps
    for _ in range(3):
        gaps.report_from_peer(link, (), 2**32 - 1)  # the highest number that a node may report
    publisher.publish("k", b"1")
    net.until(lambda: s.contents == [b"1"], limit=3)
    assert s.dropped == 2**32 - 1
