"""Messages while their master is unreachable or refuses them, on simulated nodes."""

import pytest
from msgspec.structs import replace

from mesh.kernel.forwarding import entry_expiry
from mesh.kernel.forwarding.from_peer import FromPeer
from mesh.mapping.rules import Rule
from mesh.routing.forward_stages import Keeping
from tests.mesh.envelopes import envelope
from tests.mesh.kernel.masters import RUGBY, STOCK, Cluster, cluster
from tests.mesh.store.images import standing
from tests.simulated_client import SimClient, Subscription

DEAD = "__sys__deadMessage/#"


def test_what_waits_survives_a_crash_of_the_node_where_it_waits() -> None:
    c = cluster("heron", "frodo", "bilbo")
    joe, ann = c.client("bilbo"), c.client("heron", "ann")
    heard = ann.subscribed("k")
    c["frodo"].kill()
    for n in range(20):
        joe.publish("k", b"%d" % n, persistent=True, domain=RUGBY)
    joe.settled()
    assert {joe.state(n, RUGBY) for n in range(1, 21)} == {"FORWARD_WARNING"}
    joe.die()  # so that its client does not send it again
    c["bilbo"].restart()
    c["frodo"].start()
    c.net.until(lambda: heard.contents == [b"%d" % n for n in range(20)])
    c.net.run(5)
    assert c["bilbo"].metric("tailed_back") == c["bilbo"].metric("stored_envelopes") == 0
    assert len(heard.got) == 20


def on_its_way() -> tuple[Cluster, SimClient, Subscription]:
    """Return a mesh in which a message of joe waits for heron at bilbo and at frodo, and a subscription.

    joe is at bilbo, and ann subscribes at heron.
    """
    c = cluster("heron", "frodo", "bilbo")
    joe, ann = c.roamer("bilbo"), c.client("heron", "ann")
    heard = ann.subscribed("k", domain=RUGBY)
    c["heron"].kill()
    c.net.run(15)
    joe.publish("k", b"1", persistent=True, domain=RUGBY)
    c.net.until(lambda: c["frodo"].core.parts.forwarder.onward.messages == 1)
    return c, joe, heard


def test_what_was_on_its_way_is_kept_where_its_publisher_has_gone_to() -> None:
    # The publisher moves to the next hop of its old node, which already has the entry of that node.
    c, joe, heard = on_its_way()
    joe.move(c["frodo"].ipc)
    joe.connected()
    joe.publish("k", b"2", persistent=True, domain=RUGBY)
    c.net.until(lambda: joe.state(2, RUGBY) == "FORWARD_WARNING")
    c["bilbo"].kill()
    c["frodo"].restart()
    c["heron"].start()
    c.net.until(lambda: heard.contents == [b"1", b"2"])
    c["bilbo"].start()
    c.net.run(15)
    assert heard.contents == [b"1", b"2"]


def test_what_a_visitor_published_is_not_forged_where_only_a_later_node_of_its_is_up() -> None:
    c = cluster("heron", "frodo", "bilbo")
    joe, ann = c.roamer("frodo"), c.client("heron", "ann")
    heard = ann.subscribed("k", domain=RUGBY)
    joe.move(c["bilbo"].ipc)
    joe.connected()
    c["heron"].kill()
    c.net.run(15)
    joe.publish("k", b"1", persistent=True, domain=RUGBY)
    c.net.until(lambda: c["frodo"].core.parts.forwarder.onward.messages == 1)
    joe.move(c["frodo"].ipc)
    joe.connected()
    c.net.until(lambda: joe.state(1, RUGBY) == "FORWARD_WARNING")
    c.net.cut("frodo", "heron")
    c["heron"].start()
    c.net.until(lambda: "bilbo" in c["heron"].alive)
    c["bilbo"].kill()
    c["frodo"].restart()
    c.net.heal()
    c.net.until(lambda: heard.contents == [b"1"])
    assert c["heron"].metric("forged") == 0
    [got] = heard.got
    assert got.route == ("bilbo", "frodo", "heron")


def test_what_waits_where_a_publisher_was_is_sent_again_before_newer_messages() -> None:
    c = cluster("heron", "golan", "frodo", "bilbo")
    joe, ann = c.roamer("bilbo"), c.client("heron", "ann")
    heard = ann.subscribed("k", domain=RUGBY)
    c.net.cut("frodo", "heron")
    joe.publish("k", b"1", persistent=True, domain=RUGBY)
    c.net.until(lambda: joe.state(1, RUGBY) == "FORWARD_WARNING")
    joe.move(c["golan"].ipc)
    joe.connected()
    for n in (2, 3):
        joe.publish("k", b"%d" % n, persistent=True, domain=RUGBY)
    c.net.until(lambda: [joe.state(n, RUGBY) for n in (1, 2, 3)] == ["OK"] * 3)
    assert heard.contents == [b"1", b"2", b"3"]
    c.net.heal()
    c.net.until(lambda: c["bilbo"].metric("tailed_back") == c["frodo"].metric("tailed_back") == 0)
    joe.publish("k", b"4", persistent=True, domain=RUGBY)
    c.net.until(lambda: len(heard.contents) >= 4)
    assert heard.contents == [b"1", b"2", b"3", b"4"], "heron knows the number of the copy"


def test_a_letter_that_was_refused_where_its_publisher_has_gone_is_not_read_when_its_first_node_is_back() -> (
    None
):
    names = ("heron", "bilbo")
    c = cluster(*names, rules=dict.fromkeys(names, (Rule("heron", domains=(RUGBY,)),)), known=names)
    joe, ann = c.roamer("heron"), "/node/bilbo/client/ann/session/1"
    c["bilbo"].kill()
    for content, force in ((b"1", False), (b"2", True)):
        joe.send(ann, content, force=force, persistent=True, domain=RUGBY)
    c.net.until(lambda: joe.state(2, RUGBY) == "FORWARD_WARNING")
    c["heron"].kill()
    c["bilbo"].start()
    joe.move(c["bilbo"].ipc)
    c.net.until(lambda: joe.state(1, RUGBY) == "NOT_CONNECTED" and joe.state(2, RUGBY) == "OK")
    inbox = c.client("bilbo", "ann", session=1).inbox()
    joe.publish("k", b"3", domain=RUGBY)  # shows bilbo, which only forwards it, that 1 has its answer
    c.net.run(1)
    c["heron"].start()
    c.net.until(lambda: joe.state(3, RUGBY) == "OK")
    c.net.run(15)
    assert inbox.contents == [b"2"]


def test_what_comes_back_by_another_node_is_not_stored_twice() -> None:
    c = cluster("heron", "frodo", "bilbo")
    joe = c.client("frodo")
    c["heron"].kill()
    c.net.run(15)
    joe.publish("k", b"1", persistent=True, domain=RUGBY)
    c.net.until(lambda: joe.state(1, RUGBY) == "FORWARD_WARNING")
    forwarder = c["frodo"].core.parts.forwarder
    (entry,) = forwarder.onward.entries()
    entry.origin = FromPeer(forwarder.shipping, c["bilbo"].uuid)  # the publisher went there and comes back
    forwarder.publish(entry.envelope)
    c.net.run(10)
    assert len(standing(c["frodo"].disk.store)) == 1
    c["heron"].start()
    c.net.until(lambda: joe.state(1, RUGBY) == "OK")
    c.net.until(lambda: not standing(c["frodo"].disk.store))


def test_what_its_master_may_have_is_not_refused_where_its_publisher_has_gone_to() -> None:
    c, joe, heard = on_its_way()
    c["frodo"].disk.is_full = True
    joe.move(c["frodo"].ipc)
    joe.connected()
    c.net.run(5)
    assert joe.state(1, RUGBY) in ("", "FORWARD_WARNING")
    c["heron"].start()
    c.net.until(lambda: joe.state(1, RUGBY) == "OK")
    c.net.until(lambda: heard.contents == [b"1"])


def test_trial_D_nothing_is_stored_past_what_could_not_be_stored() -> None:
    c = cluster("heron", "frodo")
    joe, ann = c.client("frodo"), c.client("heron", "ann")
    heard = ann.subscribed("k", domain=RUGBY)
    joe.publish("k", b"1", persistent=True, domain=RUGBY)
    joe.settled()
    c.net.cut("heron", "frodo")
    c["frodo"].disk.is_full = True
    joe.publish("k", b"2", persistent=True, domain=RUGBY)
    c.net.run(15)
    assert joe.state(2, RUGBY) == "", "it has left for heron: nobody may call it refused"
    c.net.disk = (0.05, 0.05)
    joe.publish("k", b"3", persistent=True, domain=RUGBY)
    c.net.run(0.07)  # 2 was tried again, and refused,
    c["frodo"].disk.is_full = False
    c.net.run(0.06)  # and now there is room for 3
    c["frodo"].restart()  # with 3 alone on disk, it would leave before joe has sent 2 again
    c.net.heal()
    joe.settled()
    c.net.until(lambda: len(heard.got) == 3)
    assert heard.contents == [b"1", b"2", b"3"]


def test_trial_D_what_comes_by_a_second_way_while_it_goes_to_the_disk_is_answered_to_both() -> None:
    master = Rule("heron", domains=(RUGBY,))
    names = ("heron", "frodo", "bilbo")
    c = cluster(*names, rules=dict.fromkeys(names, (master,)), known=names)
    joe = c.roamer("frodo")
    for node in ("bilbo", "frodo"):  # both are connected
        c.client(node, "other").publish("k", b"0", domain=RUGBY)
    c.net.run(2)
    c.net.disk = (1.0, 1.0)
    joe.publish("k", b"1", persistent=True, domain=RUGBY)
    c.net.run(0.1)
    joe.move(c["bilbo"].ipc)
    c.net.run(6)
    assert joe.state(1, RUGBY) == "OK"
    assert [len(c[name].core.parts.forwarder.onward) for name in ("frodo", "bilbo")] == [0, 0]


def test_of_what_has_gone_on_nothing_stays_however_long_it_might_have_waited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(entry_expiry, "FEW_DUE", 8)
    c = cluster("heron", "frodo", "bilbo")
    joe, due = c.client("bilbo"), []
    for n in range(40):
        joe.publish("k", b"%d" % n, domain=RUGBY)
        joe.settled()
        due.append(len(c["bilbo"].core.parts.forwarder.tailback._expiry._due))
    assert max(due) <= 8 and due.count(1) > 2, "few are looked through at a time"


@pytest.mark.parametrize("first", ["its publisher", "another node"])
def test_what_a_client_here_asks_for_is_kept_also_when_another_node_brings_it_again(first: str) -> None:
    c = cluster("heron", "frodo", "bilbo")
    core = c["frodo"].core
    client = core.parts.forwarder.local
    bilbo = FromPeer(core.parts.forwarder.shipping, c["bilbo"].uuid)
    c["heron"].close()
    e = replace(envelope("k", persistent=True, domain=RUGBY), sender="/node/bilbo/client/joe/session/1")
    for origin in (client, bilbo, client, bilbo) if first == "its publisher" else (bilbo, client, bilbo):
        core.parts.forwarder.routing._settled = False  # no warning was sent yet
        core.parts.forwarder.acceptance.accept_envelope(e, origin)
    (entry,) = core.parts.forwarder.onward.entries()
    core.parts.forwarder.tailback.warn(entry)
    assert entry.keeping is Keeping.STORING and entry.origin == bilbo, (
        "on the disk, and whoever asks last is answered"
    )


def test_how_much_waits_and_for_how_long_can_be_asked() -> None:
    c = cluster("heron", "frodo", "bilbo")
    joe = c.client("bilbo")
    c["frodo"].close()
    joe.publish("k", b"12345", domain=RUGBY)
    joe.publish("k", b"x", domain="nobody's")
    joe.settled()
    c.net.run(3)
    told = joe.call("ls")
    frodo = next(row for row in told["nodes"] if row["name"] == "frodo")["tailback"]
    assert (frodo["messages"], frodo["bytes"] > 5, 3 <= frodo["age"] < 30) == (1, True, True)
    assert told["unknown"]["messages"] == 1
    assert "frodo" in joe.answers[RUGBY, 1].text
    assert "no rule names a master of domain nobody's" in joe.answers["nobody's", 1].text


def test_beyond_its_bound_a_publish_is_refused_and_nothing_answered_is_lost() -> None:
    c = cluster("heron", "frodo", "bilbo", tailback_count=20)
    joe, ann = c.client("bilbo"), c.client("heron", "ann")
    heard = ann.subscribed("k")
    c["frodo"].close()
    for n in range(40):
        joe.publish("k", b"%d" % n, persistent=True, domain=RUGBY)
    joe.settled()
    states = [joe.state(n, RUGBY) for n in range(1, 41)]
    assert set(states) == {"FORWARD_WARNING", "TAILBACK_FULL"}
    taken = [b"%d" % n for n, state in enumerate(states) if state == "FORWARD_WARNING"]
    c["frodo"].start()
    c.net.until(lambda: heard.contents == taken)


def test_an_expired_message_is_a_dead_letter_and_the_rest_go_on() -> None:
    c = cluster("heron", "frodo", "bilbo", tailback_ttl=60.0)
    joe, ann = c.client("bilbo"), c.client("heron", "ann")
    heard = ann.subscribed("k")
    c["frodo"].close()
    joe.publish("k", b"old", persistent=True, domain=RUGBY)
    joe.settled()
    c.net.run(40)
    joe.publish("k", b"young", persistent=True, domain=RUGBY)
    joe.settled()
    c.net.until(lambda: joe.state(1, RUGBY) == "EXPIRED")
    c["frodo"].start()
    c.net.until(lambda: joe.state(2, RUGBY) == "OK")
    assert heard.contents == [b"young"]
    (dead,) = joe.get(pattern=DEAD)
    assert dead.content == b"old"
    assert (c["bilbo"].metric("expired"), c["bilbo"].metric("dead")) == (1, 1)


def test_what_waited_in_vain_has_left_the_disk_when_its_publisher_hears_of_it() -> None:
    # Otherwise a crash would send it again, and a master that is back by then would accept it.
    c = cluster("heron", "frodo", "bilbo", tailback_ttl=60.0)
    joe = c.client("bilbo")
    c["frodo"].kill()
    for n in range(3):
        joe.publish("k", b"%d" % n, persistent=True, domain=RUGBY)
    c.net.until(lambda: joe.state(3, RUGBY) == "FORWARD_WARNING")
    c.net.until(lambda: "EXPIRED" in {joe.state(n, RUGBY) for n in (1, 2, 3)}, 120)
    expired = {n for n in (1, 2, 3) if joe.state(n, RUGBY) == "EXPIRED"}
    c["bilbo"].kill()
    c["frodo"].start()
    c["bilbo"].start()
    c.net.run(20)
    void = {n for n in (1, 2, 3) if joe.state(n, RUGBY) != "OK"}  # it gets the other answers only now
    assert expired and expired <= void and c["heron"].metric("published") == 3 - len(void)


def test_what_waited_in_vain_stays_refused_over_a_restart() -> None:
    c = cluster("heron", "frodo", "bilbo", tailback_ttl=60.0)
    joe = c.client("bilbo")
    c["frodo"].kill()
    joe.publish("k", b"1", persistent=True, domain=RUGBY)
    c.net.until(lambda: joe.state(1, RUGBY) == "FORWARD_WARNING")
    c.net.run(30)
    joe.publish("k", b"2", persistent=True, domain=RUGBY)
    c.net.until(lambda: joe.state(2, RUGBY) == "FORWARD_WARNING")
    c.net.until(lambda: c["bilbo"].metric("expired") == 1)
    c.net.until(lambda: not c["bilbo"].core.parts.disk.storing)
    c.net.break_all(joe.name)  # before the answer reaches joe
    c["bilbo"].kill()
    c["frodo"].start()
    c["bilbo"].start()
    c.net.until(lambda: joe.state(2, RUGBY) == "OK")
    assert joe.state(1, RUGBY) == "REFUSED", "it would come behind the second"
    assert c["heron"].metric("published") == 1


def test_what_the_master_refuses_is_a_dead_letter_and_the_rest_go_on() -> None:
    # heron's store is full for persistent messages. Transient ones are accepted.
    c = cluster("heron", "frodo", "bilbo")
    joe, ann = c.client("bilbo"), c.client("heron", "ann")
    heard = ann.subscribed("k")
    c["frodo"].close()
    joe.publish("k", b"1", persistent=True, domain=RUGBY)
    joe.publish("k", b"2", domain=RUGBY)
    joe.settled()
    c["heron"].disk.is_full = True
    c["frodo"].start()
    c.net.until(lambda: (joe.state(1, RUGBY), joe.state(2, RUGBY)) == ("STORE_FULL", "OK"))
    assert heard.contents == [b"2"]
    c.net.run(1)
    assert [m.content for m in joe.get(pattern=DEAD)] == [b"1"]


def test_a_publisher_hears_at_once_what_is_under_way_to_a_master_that_dies() -> None:
    c = cluster("heron", "frodo", "bilbo")
    joe = c.client("bilbo")
    joe.publish("k", b"0", domain=RUGBY, persistent=True)
    joe.settled()
    c.net.disk = (0.5, 0.6)  # answers wait for the disk
    joe.publish("k", b"1", domain=RUGBY, persistent=True)
    c.net.run(0.1)
    c["heron"].kill()
    c.net.until(lambda: joe.state(2, RUGBY) == "FORWARD_WARNING", 10)
    c["heron"].start()
    c.net.until(lambda: joe.state(2, RUGBY) == "OK")


def test_a_master_that_is_away_holds_up_no_other_behind_the_same_way() -> None:
    c = cluster("heron", "avalon", "frodo", "bilbo", window_count=5)
    joe, ann = c.client("bilbo"), c.client("heron", "ann")
    heard = ann.subscribed("k", domain=RUGBY)
    c["avalon"].kill()
    for n in range(12):  # more than fit into a window
        joe.publish("k", b"%d" % n, domain=STOCK)
    joe.settled()
    joe.publish("k", b"through", domain=RUGBY)
    assert joe.settled().state(1, RUGBY) == "OK"
    c.net.until(lambda: heard.contents == [b"through"])
    assert {joe.state(n, STOCK) for n in range(1, 13)} == {"FORWARD_WARNING"}
