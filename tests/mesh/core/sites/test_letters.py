"""Letters between sites: they come once, in order, and who sends one to nowhere is told so at once."""

import dataclasses
from typing import Any
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from mesh.config.sites import RemoteSite
from mesh.core.sites.letters import Letters
from mesh.core.sites.transit import Transit
from mesh.sites.accepting import Accepts
from mesh.sites.letters import UNKNOWN
from mesh.values import Hop
from mesh.wire.commands import Answer, Outcome, Relay, Relayed
from mesh.wire.envelope import Envelope
from mesh.wire.frames import write
from tests.mesh.core.sites.meshes import FIRST, events, gateway, gateway_to, links, member, say
from tests.mesh.core.sites.test_gateway_reload import reloaded
from tests.mesh.envelopes import envelope
from tests.seeds import stories
from tests.simulated_client import SimClient, Subscription
from tests.simulation import SimNetwork, SimNode

FROM_LON = {"LON": RemoteSite("LON", letters=("#",))}
FROM_NYC = {"NYC": RemoteSite("NYC", letters=("#",))}


def two_sites(net: SimNetwork, **options: Any) -> tuple[SimNode, SimNode, SimNode, SimNode]:
    """LON's gateway a and its member b; NYC's gateway c and its member d."""
    c = gateway(net, "c", "NYC", "LON", tables=options.pop("there", FROM_LON))
    a = gateway(net, "a", "LON", "NYC", FIRST, tables=FROM_NYC)
    b = member(net, "b", "LON", "a", tables=FROM_NYC)
    d = member(net, "d", "NYC", "c", tables=FROM_LON)
    net.until(lambda: links(a) == links(c) == 1 and "b" in a.alive and "d" in c.alive)
    return a, b, c, d


def client(node: SimNode, name: str) -> SimClient:
    return SimClient(node.net, node.ipc, name, session=1).connected()


def name_at(site: str, node: SimNode, name: str) -> str:
    return f"/site/{site}/node/{node.name}/client/{name}/session/1"


def test_D7_a_letter_comes_once_to_whom_it_is_for_and_the_answer_to_who_sent_it() -> None:
    net = SimNetwork()
    nodes = two_sites(net)
    site = dict(zip("abcd", ("LON", "LON", "NYC", "NYC"), strict=True))
    people = {node.name: client(node, f"of-{node.name}") for node in nodes}
    at = {node.name: node for node in nodes}
    inbox = {name: each.inbox() for name, each in people.items()}
    pairs = [("a", "c"), ("c", "a"), ("b", "c"), ("a", "d"), ("b", "d")]
    for origin, goal in pairs:
        people[origin].send(name_at(site[goal], at[goal], f"of-{goal}"), f"{origin} to {goal}".encode())
    net.until(lambda: sum(len(each.got) for each in inbox.values()) == 5)
    for name, each in inbox.items():
        for letter in list(each.got):
            people[name].send(letter.sender, b"re: " + letter.content)
    net.until(lambda: sum(len(each.got) for each in inbox.values()) == 10)
    net.run(5)
    for name, each in inbox.items():
        sent = [f"{o} to {g}" for o, g in pairs if g == name]
        answered = [f"re: {o} to {g}" for o, g in pairs if o == name]
        assert sorted(text.decode() for text in each.contents) == sorted([*sent, *answered])
    assert all(answer.state == "OK" for each in people.values() for answer in each.answers.values())


def test_what_a_letter_says_of_itself_is_where_its_sender_is() -> None:
    net = SimNetwork()
    _, b, _, d = two_sites(net)
    inbox = client(d, "ann").inbox()
    client(b, "joe").send(name_at("NYC", d, "ann"), b"x")
    net.until(lambda: len(inbox.got) == 1)
    assert inbox.got[0].sender == "/site/LON/node/b/client/joe/session/1"
    assert inbox.got[0].route == ("site:LON/b", "c", "d")


@pytest.mark.parametrize("name", ["node/d/client/ann", "calc/add"])
def test_the_way_to_another_site_is_told_as_it_would_be_gone(name: str) -> None:
    net = SimNetwork()
    _, b, c, _ = two_sites(net)
    joe = client(b, "joe")

    def step(site: str) -> dict[str, str]:
        (step,) = joe.call("route", to=f"/site/{site}/{name}")["steps"]
        return {key: step[key] for key in ("node", "decision", "next", "code")}

    assert step("NYC") == {"node": "b", "decision": "forward", "next": "site/NYC", "code": ""}
    refused = {"node": "b", "decision": "refuse", "code": "SITE_UNREACHABLE"}
    assert step("ROM") == {**refused, "next": "site/ROM"}
    c.close()
    net.run(1)
    assert step("NYC") == {**refused, "next": "site/NYC"}


def refused(joe: SimClient, to: str, number: int = 1, **how: Any) -> str:
    """What becomes of a letter, and that it is told at once."""
    begun = joe.net.now
    joe.send(to, b"x", **how)
    joe.settled()
    assert joe.net.now - begun < 1
    return joe.state(number)


@pytest.mark.parametrize("persistent", [False, True])
def test_D17_a_letter_to_a_site_that_is_unknown_or_away_or_to_a_dead_member_is_refused_at_once(
    persistent: bool,
) -> None:
    net = SimNetwork()
    _, b, c, d = two_sites(net)
    joe = client(b, "joe")
    assert refused(joe, "/site/SFO/node/c/client/ann", 1, persistent=persistent) == "SITE_UNREACHABLE"
    assert refused(joe, "/site/NYC/node/zoe/client/ann", 2, persistent=persistent) == "UNKNOWN_NODE"
    d.kill()
    net.until(lambda: not c.alive)
    assert refused(joe, "/site/NYC/node/d/client/ann", 3, persistent=persistent) == "UNKNOWN_NODE"
    assert refused(joe, "/site/NYC/node/c/client/ann", 4, persistent=persistent) == "NOT_CONNECTED"
    c.close()
    net.run(1)
    assert refused(joe, "/site/NYC/node/c/client/ann", 5, persistent=persistent) == "SITE_UNREACHABLE"
    assert b.metric("tailed_back") == 0


def test_a_letter_of_who_came_back_before_he_sent_it_is_refused_as_that_of_anybody() -> None:
    net = SimNetwork()
    _, b, c, d = two_sites(net)
    c.close()
    d.close()
    joe = client(b, "joe")
    net.run(5)
    net.break_all(joe.name)
    net.run(60)
    joe.send("/site/NYC/node/d/client/ann", b"x")
    net.until(lambda: joe.state(1) == "SITE_UNREACHABLE")
    assert b.metric("tailed_back") == 0


@pytest.mark.parametrize("force", [False, True])
def test_a_letter_to_a_site_that_is_unknown_is_refused_also_if_it_may_wait_and_told_which_are_known(
    force: bool,
) -> None:
    net = SimNetwork()
    tables = {name: RemoteSite(name) for name in ("NET1", "NET2", "SFO")}
    joe = client(gateway_to(net, "a", "LON", dict.fromkeys(tables, ""), tables=tables), "joe")
    said = {"NYX": "it knows NET1, NET2, SFO.", "NET3": "(did you mean NET1 or NET2?)."}
    for number, (site, known) in enumerate(said.items(), 1):
        to = f"/site/{site}/node/c/client/ann"
        assert refused(joe, to, number, force=force) == "SITE_UNREACHABLE"
        assert f"a {UNKNOWN} {site}" in joe.answers["", number].text
        assert known in joe.answers["", number].text


def test_letters_that_wait_are_counted_with_what_waits_and_told_when_their_site_is_known_no_more() -> None:
    net = SimNetwork()
    a, b, c, d = two_sites(net)
    joe = client(b, "joe")
    for node in (d, c):
        node.close()
    net.run(2)
    for _ in range(3):
        joe.send(name_at("NYC", d, "ann"), b"x", force=True)
    joe.settled()
    for node in (a, b):
        assert [row["waiting"]["messages"] for row in client(node, "eve").call("sites")["sites"]] == [3]
    reloaded(b, {})
    net.run(1)
    assert "3 letters for NYC will not go there" in " ".join(events(b, "site"))
    assert not b.metric("tailed_back")


def test_D16_of_a_hundred_letters_to_a_site_that_is_down_each_is_answered_and_others_go_on() -> None:
    net = SimNetwork()
    a, b, c, d = two_sites(net)
    for node in (d, c):
        node.close()
    net.run(2)
    inbox = client(a, "ann").inbox()
    for node in (b, a):
        joe = client(node, f"joe-{node.name}")
        for n in range(100):
            joe.send("/site/NYC/node/c/client/ann", b"%d" % n)
        joe.send("/node/a/client/ann/session/1", b"here")
        joe.settled()
        states = [answer.state for answer in joe.answers.values()]
        assert states.count("SITE_UNREACHABLE") == 100 and states.count("OK") == 1
    net.until(lambda: len(inbox.got) == 2)
    assert [m.sender for m in inbox.got] == [f"/node/{n}/client/joe-{n}/session/1" for n in "ba"]
    assert a.metric("tailed_back") == b.metric("tailed_back") == 0


def test_letters_that_may_wait_go_when_the_site_is_back_also_after_a_restart() -> None:
    net = SimNetwork()
    _, b, c, d = two_sites(net)
    joe = client(b, "joe")
    for node in (d, c):
        node.kill()
    net.run(20)
    for n in range(3):
        joe.send(name_at("NYC", d, "ann"), b"%d" % n, force=True, persistent=True)
    joe.settled()
    assert {joe.state(n) for n in (1, 2, 3)} == {"FORWARD_WARNING"}
    b.kill()
    for node in (b, c, d):
        node.start()
    inbox = client(d, "ann").inbox()
    net.until(lambda: len(inbox.got) >= 3)
    net.run(5)
    assert inbox.contents == [b"0", b"1", b"2"] and not b.metric("tailed_back")


def flow(net: SimNetwork, joe: SimClient, to: str, inbox: Subscription, trouble: Any) -> None:
    """Letters are sent all the time, and something happens meanwhile."""
    for n in range(60):
        joe.send(to, b"%d" % n, persistent=n % 2 == 0, force=True)
        net.run(0.02)
        if n in (20, 40):
            trouble(n)
    net.until(lambda: len(inbox.got) >= 60)
    net.run(10)
    assert inbox.contents == [b"%d" % n for n in range(60)]


@pytest.mark.parametrize("whose", stories(["LON", "NYC"]))
def test_gateways_that_die_lose_no_letter_and_double_none_and_order_holds(whose: str) -> None:
    net = SimNetwork()
    c = gateway(net, "c", "NYC", "LON", tables=FROM_LON)
    e = gateway(net, "e", "NYC", "LON", "", "c", tables=FROM_LON)
    a = gateway_to(net, "a", "LON", {"NYC": FIRST}, tables=FROM_NYC)
    b = gateway_to(net, "b", "LON", {"NYC": e.address}, "a", tables=FROM_NYC)
    w, d = (
        member(net, "w", "LON", "a", "b", tables=FROM_NYC),
        member(net, "d", "NYC", "c", "e", tables=FROM_LON),
    )
    net.until(lambda: links(a) == links(b) == 1 and len(w.alive) == len(d.alive) == 2)
    inbox, joe = client(d, "ann").inbox(), client(w, "joe")
    ways = (a, b) if whose == "LON" else (c, e)

    def die(n: int) -> None:
        node = ways[0] if n == 20 else ways[1]
        node.kill()
        net.run(0.3)
        node.start()
        if n == 20:
            net.until(lambda: links(a) == links(b) == 1 and len(w.alive) == len(d.alive) == 2)

    flow(net, joe, name_at("NYC", d, "ann"), inbox, die)
    assert {answer.state for answer in joe.answers.values()} <= {"OK", "FORWARD_WARNING"}


def test_the_line_breaks_while_letters_that_may_wait_flow_and_each_comes_once_in_order() -> None:
    net = SimNetwork()
    _, b, _, d = two_sites(net)
    inbox, joe = client(d, "ann").inbox(), client(b, "joe")
    flow(net, joe, name_at("NYC", d, "ann"), inbox, lambda n: net.break_all("a", "c"))


def test_D15_the_whole_site_dies_before_it_has_a_letter_and_nobody_gets_it() -> None:
    net = SimNetwork()
    _, b, c, d = two_sites(net)
    joe = client(b, "joe")
    net.cut("a", "c")
    joe.send(name_at("NYC", d, "ann"), b"x")
    net.run(0.5)
    d.close()
    c.close()
    joe.settled()
    assert joe.state(1) == "FORWARD_WARNING", "it has left, so nobody may call it refused"
    net.run(30)
    sent = b.metric("forwarded")
    net.run(60)
    assert b.metric("forwarded") == sent, "and it is not sent again and again"


@pytest.mark.parametrize(
    ("table", "state"),
    [
        (RemoteSite("LON"), "NO_RIGHT"),
        (RemoteSite("LON", letters=("joe",)), "NO_RIGHT"),
        (RemoteSite("LON", letters=("#",), one_way=True), "NO_RIGHT"),
        (RemoteSite("LON", letters=("ann",)), "OK"),
    ],
)
def test_only_who_is_named_gets_letters_from_another_site(table: RemoteSite, state: str) -> None:
    net = SimNetwork()
    _, b, c, _ = two_sites(net, there={"LON": table})
    inbox, joe = client(c, "ann").inbox(), client(b, "joe")
    joe.send(name_at("NYC", c, "ann"), b"x")
    joe.settled()
    assert joe.state(1) == state
    net.run(1)
    assert len(inbox.got) == (state == "OK")


def test_a_letter_that_names_its_own_site_stays_there() -> None:
    net = SimNetwork()
    a, b, *_ = two_sites(net)
    inbox, joe = client(a, "ann").inbox(), client(b, "joe")
    joe.send("/site/LON/node/a/client/ann/session/1", b"x")
    net.until(lambda: len(inbox.got) == 1)
    assert inbox.got[0].sender == "/node/b/client/joe/session/1"


def test_D2_who_reads_what_is_published_everywhere_answers_each_sender_by_a_letter() -> None:
    net = SimNetwork()
    names = {"LON": ("a", "b"), "NYC": ("c", "d"), "SFO": ("e", "f")}
    nodes: dict[str, SimNode] = {}
    for site, (first, second) in names.items():
        tables = {s: RemoteSite(s, domains=("STOCK",), letters=("#",)) for s in names if s != site}
        known = {s: nodes[m[0]].address if m[0] in nodes else "" for s, m in names.items() if s != site}
        nodes[first] = gateway_to(net, first, site, known, tables=tables)
        nodes[second] = member(net, second, site, first, tables=tables)
    net.until(lambda: all(links(nodes[m[0]]) == 2 and nodes[m[1]].alive for m in names.values()))
    people = {name: client(node, f"of-{name}") for name, node in nodes.items()}
    heard = {name: each.subscribed("quote", domain="STOCK") for name, each in people.items()}
    inbox = {name: each.inbox() for name, each in people.items()}
    for name, each in people.items():
        each.publish("quote", name.encode(), domain="STOCK", persistent=True)
    net.until(lambda: all(len(each.got) == 6 for each in heard.values()))
    for name, each in people.items():
        for message in heard[name].got:
            each.send(message.sender, name.encode())
    net.until(lambda: all(len(each.got) >= 6 for each in inbox.values()))
    net.run(5)
    site_of = {name: site for site, both in names.items() for name in both}
    for name in nodes:
        assert len(heard[name].got) == len(inbox[name].got) == 6
        senders = {
            f"{'' if site_of[n] == site_of[name] else f'/site/{site_of[n]}'}/node/{n}/client/of-{n}/session/1"
            for n in nodes
        }
        assert {letter.sender for letter in inbox[name].got} == senders


@pytest.mark.parametrize("older", ["there", "here"])
def test_gateways_of_an_earlier_release_are_given_no_letter_and_its_sender_is_told(older: str) -> None:
    net = SimNetwork()
    silent = patch.object(Letters, "speaks", lambda self: ())
    if older == "there":
        with silent:
            c = gateway(net, "c", "NYC", "LON", tables=FROM_LON)
        a = gateway(net, "a", "LON", "NYC", FIRST, tables=FROM_NYC)
    else:
        c = gateway(net, "c", "NYC", "LON", tables=FROM_LON)
        with silent:
            a = gateway(net, "a", "LON", "NYC", FIRST, tables=FROM_NYC)
    b = member(net, "b", "LON", "a", tables=FROM_NYC)
    net.until(lambda: links(a) == 1 and b.alive)
    inbox, joe = client(c, "ann").inbox(), client(b, "joe")
    assert refused(joe, name_at("NYC", c, "ann")) == "SITE_UNREACHABLE"
    assert not inbox.got and links(c) == 1


def test_a_node_that_is_no_gateway_is_not_believed_what_became_of_a_letter() -> None:
    net = SimNetwork()
    a, b, _, d = two_sites(net)
    x = member(net, "x", "LON", "a", "b", tables=FROM_NYC)
    net.until(lambda: len(x.alive) == 2)
    joe = client(b, "joe")
    joe.send("/site/NYC/node/zoe/client/ann", b"x", force=True)
    net.until(lambda: joe.state(1) == "FORWARD_WARNING")
    peer = x.core.parts.neighbours.peers[b.uuid]
    net.until(lambda: peer.data is not None)
    assert peer.data is not None
    lie = Relayed("NYC", (Outcome(joe.stream, Answer("", 1, 9)),))
    x._send(peer.data.key, write(lie))
    net.run(2)
    assert b.metric("tailed_back") == 1
    del a, d


def test_a_letter_to_a_node_there_that_dies_with_it_waits_and_is_not_called_refused() -> None:
    net = SimNetwork()
    _, b, c, d = two_sites(net)
    joe = client(b, "joe")
    joe.send(name_at("NYC", d, "ann"), b"w", force=True)
    joe.settled()
    net.cut("c", "d")
    joe.send(name_at("NYC", d, "ann"), b"x", persistent=True)
    net.until(lambda: joe.state(2) == "FORWARD_WARNING")
    d.kill()
    net.heal()
    net.until(lambda: not c.alive)
    net.run(2)
    assert joe.state(2) == "FORWARD_WARNING" and b.metric("tailed_back") == 1
    d.start()
    inbox = client(d, "ann").inbox()
    net.until(lambda: not b.metric("tailed_back"))
    net.run(3)
    assert inbox.contents in ([b"x"], []), "[]: she came behind it"


def test_what_is_published_meanwhile_in_the_same_domain_makes_no_letter_a_repeat() -> None:
    net = SimNetwork()
    tables = {"NYC": RemoteSite("NYC", domains=("STOCK",), letters=("#",))}
    c = gateway(net, "c", "NYC", "LON", tables={"LON": RemoteSite("LON", domains=("STOCK",), letters=("#",))})
    a = gateway(net, "a", "LON", "NYC", FIRST, tables=tables)
    net.until(lambda: links(a) == 1)
    ann, joe = client(c, "ann"), client(a, "joe")
    heard, inbox = ann.subscribed("quote", domain="STOCK"), ann.inbox()
    for n in range(20):
        joe.send(name_at("NYC", c, "ann"), b"l%d" % n, domain="STOCK", force=True)
        joe.publish("quote", b"p%d" % n, domain="STOCK", persistent=True)
        if n % 5 == 0:
            net.break_all("a", "c")
        net.run(0.05)
    net.until(lambda: len(heard.got) >= 20 and len(inbox.got) >= 20)
    net.run(5)
    assert heard.contents == [b"p%d" % n for n in range(20)]
    assert inbox.contents == [b"l%d" % n for n in range(20)]


def test_the_way_of_a_letter_is_told() -> None:
    net = SimNetwork()
    _, b, c, _ = two_sites(net)
    joe = client(b, "joe")

    def way(to: str) -> list[tuple[str, str]]:
        return [(step["decision"], step["next"]) for step in joe.call("route", to=to)["steps"]]

    assert way("/site/NYC/node/c/client/ann") == [("forward", "site/NYC")]
    assert way("/site/SFO/node/c/client/ann")[0][0] == "refuse"
    assert way("/site/LON/node/a/client/ann") == [("forward", "a"), ("here", "")]
    c.close()
    net.run(1)
    assert way("/site/NYC/node/c/client/ann")[0][0] == "refuse"


def test_another_site_fills_no_node_with_inboxes_of_who_is_not_there() -> None:
    net = SimNetwork()
    _, b, c, _ = two_sites(net)
    joe, here = client(b, "joe"), client(c, "of-c")
    with patch("mesh.core.subscribers.inboxes.ABROAD", 3):
        for n in range(5):
            joe.send(f"/site/NYC/node/c/client/nobody-{n}", b"x", force=True)
        joe.settled()
        here.send("/node/c/client/somebody", b"x", force=True)
        here.settled()
    assert [joe.state(n) for n in range(1, 6)] == ["OK"] * 3 + ["INBOX_FULL"] * 2
    assert here.state(1) == "OK"


def test_a_letter_that_waited_is_no_repeat_though_what_was_published_later_has_come() -> None:
    net = SimNetwork()
    a, _, c, _ = two_sites(net, there={"LON": RemoteSite("LON", accepts=Accepts(("STOCK",)), letters=("#",))})
    inbox = client(c, "ann").inbox()
    wall = c.core.parts.desk.wall
    plain = envelope("quote", first=10, low=10, domain="STOCK", persistent=True)
    published = replace(
        plain, sender="/site/LON/node/a/client/joe/session/1", route=(Hop("site:LON/a", 0, 1),), sent=wall
    )
    letter = replace(published, first=5, last=5, low=5, to=name_at("NYC", c, "ann"))
    for each in (published, letter):
        say(a, "NYC", Relay("NYC", (1,)), each)
    net.run(1)
    assert len(inbox.got) == 1 and c.metric("published") == 2


def test_what_leaves_promises_nothing_of_a_letter_that_still_waits() -> None:
    net = SimNetwork()
    a, *_, c, _ = two_sites(net)
    a._settings["sites"] = {"NYC": (), "SFO": ()}
    joe, left = client(a, "joe"), list[int]()
    take = Transit.take

    def taken(self: Transit, source: bytes, site: str, envelopes: Any, dropped: int = 0) -> None:
        left.extend(envelope.low for envelope in envelopes)
        take(self, source, site, envelopes, dropped)

    with patch.object(Transit, "take", taken):
        joe.send("/site/NYC/node/nobody/client/ann", b"1", force=True)
        joe.settled()
        for n in range(3):
            joe.send(name_at("NYC", c, "ann"), b"%d" % n, force=True)
            joe.settled()
    assert left == [1, 1, 1, 1]


def test_a_letter_on_the_disk_is_not_called_refused_when_its_node_is_started_again_without_a_way() -> None:
    net = SimNetwork()
    _, b, c, d = two_sites(net)
    joe = client(b, "joe")
    inbox = client(d, "ann").inbox()
    net.cut("a", "c")
    joe.send(name_at("NYC", d, "ann"), b"x", persistent=True)
    net.until(lambda: joe.state(1) == "FORWARD_WARNING")
    joe.close()
    net.run(20)
    b.kill()
    b.start()
    net.run(20)
    assert b.metric("tailed_back") == 1 and not b.metric("dead")
    net.heal()
    net.until(lambda: not b.metric("tailed_back"))
    assert inbox.contents == [b"x"]
    del c


@pytest.mark.parametrize("had_left", [True, False])
def test_what_waits_for_a_site_that_is_taken_out_is_given_up_though_it_left_or_was_restored(
    had_left: bool,
) -> None:
    net = SimNetwork()
    a, b, c, d = two_sites(net)
    joe, ann = client(b, "joe"), name_at("NYC", d, "ann")
    if had_left:
        joe.send(ann, b"x", force=True)  # so that it is known who is a gateway
        joe.settled()
        net.cut("a", "c")
    else:
        c.kill()
        net.run(20)
    for _ in range(3):
        joe.send(ann, b"x", force=True, persistent=True)
    net.run(20)
    if not had_left:
        b.kill()
        b.start()
        net.until(lambda: "b" in a.alive)
    assert b.metric("tailed_back") == 3
    reloaded(b, {})
    net.until(lambda: not b.metric("tailed_back"), 10.0)
    assert b.metric("dead") == 3 and any(": 3 letters for NYC" in note for note in events(b, "site"))


def test_letters_that_come_again_in_another_order_than_that_of_their_numbers_are_not_held_back_for_ever() -> (
    None
):
    """What was not on the disk of a node that was started again comes behind what was."""
    net = SimNetwork()
    a, b, _, d = two_sites(net)
    joe, inbox = client(b, "joe"), client(d, "ann").inbox()
    transit = next(part for part in a.core.parts.desk.face if isinstance(part, Transit))
    transit._lost["NYC", joe.stream, (b.uuid, True)] = 1
    taken = transit.take

    def take(source: bytes, site: str, envelopes: list[Envelope], dropped: int = 0) -> None:
        last_first = sorted(envelopes, key=lambda e: -e.first)
        taken(source, site, [replace(envelope, low=1) for envelope in last_first], dropped)

    with patch.object(transit, "take", take):
        for text in (b"1", b"2", b"3"):
            joe.send(name_at("NYC", d, "ann"), text, persistent=True)
        net.until(lambda: len(inbox.got) == 3)
    assert sorted(inbox.contents) == [b"1", b"2", b"3"]
    net.until(lambda: all(joe.state(n) == "OK" for n in (1, 2, 3)))


def test_a_letter_for_which_there_is_no_room_waits_where_it_was_sent_and_is_not_called_refused() -> None:
    """It may have been taken before, and its answer be lost."""
    net = SimNetwork()
    _, b, c, d = two_sites(net)
    joe, inbox = client(b, "joe"), client(d, "ann").inbox()
    with patch.object(c.core.parts.forwarder.tailback, "is_half_full", lambda: True):
        joe.send(name_at("NYC", d, "ann"), b"x", persistent=True)
        net.until(lambda: joe.state(1))
        net.run(5)
        assert joe.state(1) == "FORWARD_WARNING" and not inbox.got
    net.until(lambda: joe.state(1) == "OK")
    assert inbox.contents == [b"x"]


def test_two_sites_that_are_full_of_letters_for_each_other_do_not_wait_for_each_other() -> None:
    net = SimNetwork()
    a, _, c, _ = two_sites(net)
    pairs = [(client(a, "ann"), "NYC", c, "bob"), (client(c, "bob"), "LON", a, "ann")]
    inboxes = [each.inbox() for each, *_ in pairs]
    for node in (a, c):
        desk = node.core.parts.desk
        desk.settings = dataclasses.replace(desk.settings, tailback_count=40)
    net.cut("a", "c")
    for sender, site, node, name in pairs:
        for n in range(30):
            sender.send(name_at(site, node, name), b"%d" % n, persistent=True, force=True)
    net.until(lambda: all(sender.state(30) == "FORWARD_WARNING" for sender, *_ in pairs))
    net.heal()
    net.until(lambda: [len(inbox.got) for inbox in inboxes] == [30, 30])
