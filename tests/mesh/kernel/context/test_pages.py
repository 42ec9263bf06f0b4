"""Every reply fits into its frame, however many nodes there are."""

from functools import partial
from typing import Any

import pytest

from mesh.client.pages import goes_on, joined
from mesh.discovery.table import CAPACITY
from mesh.errors import RemoteError
from mesh.kernel.context.pages import PAGE, fitting, listed, page
from mesh.kernel.peers.introductions import as_node
from mesh.wire import commands as c
from mesh.wire.calls import AskPage
from mesh.wire.codec import pack
from mesh.wire.frames import read, write
from mesh.wire.limits import CALL_FRAME, CONTROL_FRAME
from tests.mesh.kernel.keyed import IDLE
from tests.mesh.kernel.stranger import Stranger
from tests.simulated_client import SimClient, client_of
from tests.simulation import SimNetwork, SimNode

MANY = 1000
HOSTILE: list[Any] = [None, "", -1, 0, 2**63 - 1, 1.5, float("nan"), True, [], {}, "zzz", b"x"]


def crowded(many: int = MANY) -> SimNode:
    """Return a node for which `many` others are alive."""
    a = SimNetwork().node("a", sample=lambda: IDLE)
    neighbours, now = a.core.parts.neighbours, a.net.now
    for n in range(many):
        node = c.Introduction(
            n.to_bytes(16), f"a-node-with-a-name-{n:04}", 1, f"tcp://10.{n >> 8}.{n & 255}.1:7710"
        )
        neighbours.happened(neighbours.membership.on_introduction(as_node(node), now))
        a.core.take_effects()
    return a


@pytest.fixture(scope="module")
def crowd() -> SimNode:
    return crowded()


def asks(client: SimClient, verb: str, **arguments: Any) -> dict[str, Any]:
    """Read all pages, as the client library does. Each further reply must fit into a frame."""
    found = client.call(verb, **arguments)
    while goes_on(found):
        more = client.call(verb, **{**arguments, "after": goes_on(found)})
        assert len(write(c.Reply(1, more))[0]) < CALL_FRAME
        found = joined(found, more)
    return dict(found)


def test_trial_A6_ls_names_all_nodes_of_a_crowd_each_once(crowd: SimNode) -> None:
    client = client_of(crowd)
    assert goes_on(client.call("ls")), "more than one page"
    rows = asks(client, "ls")["nodes"]
    assert (rows[0]["via"], len(rows)) == ("self", MANY + 1)
    assert len({row["uuid"] for row in rows}) == MANY + 1
    assert [row["name"] for row in rows[1:]] == sorted(row["name"] for row in rows[1:])


def test_trial_A6_a_page_has_as_many_rows_as_were_asked_for(crowd: SimNode) -> None:
    client = client_of(crowd)
    first = client.call("ls", limit=3)
    assert [row["name"][-4:] for row in first["nodes"]] == ["a", "0000", "0001"]
    second = client.call("ls", limit=2, after=first["next"])
    assert [row["name"][-4:] for row in second["nodes"]] == ["0002", "0003"]


@pytest.mark.parametrize("value", HOSTILE)
def test_trial_A6_whatever_is_said_of_a_page_gets_an_answer(crowd: SimNode, value: Any) -> None:
    client = client_of(crowd)
    for verb in ("ls", "peers", "events", "weights", "info"):
        call = client.ask(partial(c.Call, verb=verb, arguments={"after": value, "limit": value}))
        crowd.net.until(partial(getattr, call, "reply"))
        reply = call.reply
        assert reply is not None and (isinstance(reply.value, dict) or reply.code == "BAD_QUERY"), verb
    assert isinstance(client.call("ls", limit=1), dict), "and the connection stands"


def test_trial_A6_the_addresses_of_all_nodes_that_were_met_come_in_pages() -> None:
    a = SimNetwork().node("a")
    acquaintances = a.core.parts.neighbours.acquaintances
    for n in range(1000):
        acquaintances.add(f"tcp://{'x' * 250}-{n}.example.com:7710")
        acquaintances.met(c.Introduction(n.to_bytes(16), "n" * 60 + f"{n:04}", 1, ""))
    rows = asks(client_of(a), "peers")["peers"]
    assert len(rows) == 2000
    assert [row["kind"] for row in rows] == ["added"] * 1000 + ["remembered"] * 1000
    assert {row["node"] for row in rows} >= {"n" * 60 + f"{n:04}" for n in range(1000)}


def test_trial_A6_long_events_come_in_several_answers() -> None:
    a = SimNetwork().node("a")
    for _ in range(1024):
        a.core.parts.context.event("peer", "ä" * 10_000)
    client, after, count = client_of(a), 0, 0
    while (found := client.call("events", after=after))["events"]:
        assert len(pack(found)) < CALL_FRAME
        count, after = count + len(found["events"]), found["next"]
    assert count == 1024


def test_trial_A6_a_goodbye_fits_into_its_frame(crowd: SimNode) -> None:
    client_of(crowd)
    crowd.core.goodbye(crowd.now, crowd.wall)
    byes = [e.frames[0] for e in crowd.core.take_effects() if hasattr(e, "frames") and e.frames[0][1] == 8]
    assert byes and all(len(frame) < CONTROL_FRAME and read([frame]) for frame in byes)


def test_trial_A6_a_question_for_a_way_goes_to_a_few_of_a_crowd() -> None:
    a = crowded(300)
    a.core.parts.nodes.ask_way("nobody")
    calls = [call for peer in a.core.parts.neighbours.peers.values() for call in peer.reads.values()]
    assert 0 < len(calls) <= 64
    assert all(len(write(call)[0]) < CONTROL_FRAME for call in calls)


def test_trial_A6_a_question_that_names_too_many_nodes_is_not_handed_on() -> None:
    a = SimNetwork().node("a")
    stranger = Stranger(a)
    stranger.as_node()
    for n, visited in enumerate((["x" * 60] * 3000, ["x" * 50_000] * 4)):
        for verb in ("get", "where", "route"):
            stranger.say(c.Call(n, verb, {"kind": "exact", "text": "k", "node": "b", "visited": visited}))
    codes = [r.code for r in stranger.heard if isinstance(r, c.Reply)]
    assert codes[:2] == ["TOO_MANY_HOPS"] * 2
    sent = [command for command in stranger.heard if isinstance(command, c.Call)]
    assert not stranger.is_gone and all(len(write(call)[0]) < CONTROL_FRAME for call in sent)


def test_trial_A6_what_nodes_say_of_a_way_is_cut_to_what_a_reply_can_hold() -> None:
    net = SimNetwork()
    a = net.node("a")
    stranger = Stranger(a)
    stranger.as_node()
    client = client_of(a)
    asked_ = client.ask(lambda n: c.Call(n, "route", {"key": "k", "from": "stranger"}))
    net.run(0.5)
    [call] = [command for command in stranger.heard if isinstance(command, c.Call)]
    step = {"node": "ä" * 5_000, "decision": "7", "more": "x" * 100}
    stranger.say(c.Reply(call.request, {"steps": [step] * 20}))
    net.until(lambda: asked_.reply)
    assert asked_.reply is not None and asked_.reply.value is not None
    steps = asked_.reply.value["steps"]
    assert steps[0] == {"node": "ä" * 1200, "decision": "7", "next": "", "why": "", "code": "", "state": ""}
    assert len(write(asked_.reply)[0]) < CALL_FRAME


# --- the paging itself -------------------------------------------------------------------------------


def test_trial_A6_pages_follow_each_other_and_nothing_comes_twice() -> None:
    places = [f"{n:03}" for n in range(100)]
    found, after = [], ""
    while True:
        rows, after = page(places, lambda place: "x" * 50 + place, AskPage(after=after), 1000)
        assert 0 < len(rows) <= 20
        found += [row[-3:] for row in rows]
        if not after:
            break
    assert found == places


def test_trial_A6_a_row_that_is_gone_is_left_out_and_one_that_is_too_long_comes_alone() -> None:
    rows = {"a": None, "b": "x" * 5000, "c": "y", "d": None}
    assert page(rows, rows.get, AskPage(), 1000) == (["x" * 5000], "b")
    assert page(rows, rows.get, AskPage(after="b"), 1000) == (["y"], "")


@pytest.mark.parametrize("limit", [-(2**63), -1, 0, 1000, 2**63 - 1])
def test_trial_A6_only_a_number_that_can_be_limits_a_page(limit: int) -> None:
    places = [f"{n:04}" for n in range(1500)]
    assert len(page(places, str, AskPage(limit=limit))[0]) == 1000
    assert len(page(places, str, AskPage(limit=7))[0]) == 7


def test_trial_A6_a_reply_that_leads_back_is_refused() -> None:
    value = {"nodes": [1], "scope": "mesh", "next": "b"}
    assert joined(value, {"nodes": [2], "scope": "x"}) == {"nodes": [1, 2], "scope": "x", "next": ""}
    for page_ in ({"nodes": [2], "next": "b"}, {"nodes": [2], "next": "a"}, None, [1]):
        with pytest.raises(RemoteError):
            joined(value, page_)
    assert goes_on({"next": 7}) == goes_on(None) == goes_on({}) == "", "events go on by themselves"


def test_trial_A6_names_in_a_sentence_are_few() -> None:
    assert listed(["b", "a", "b"]) == "a, b"
    assert listed(f"n{i}" for i in range(4000)).endswith(" and 3,992 more")
    assert fitting(["x" * 100] * 50, 256, 1000) == ["x" * 100] * 9
    assert fitting(["x" * PAGE, "y"], 256) == ["x" * PAGE]


assert CAPACITY > MANY
