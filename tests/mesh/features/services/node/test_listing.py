"""The list of addresses: complete on all pages, and the same at every node."""

from typing import Any

from mesh.features.services.node.listing import merged
from mesh.wire import commands as c
from mesh.wire.calls import AskAddresses
from mesh.wire.replies import ServedAt, ServedRow, ServedRows
from tests.mesh.features.services.node.user import User
from tests.mesh.kernel.mute import Mute
from tests.simulation import SimNetwork, SimNode


def listed(user: User, **arguments: Any) -> dict[str, Any]:
    return called(user, "addresses", **arguments)


def called(user: User, verb: str, **arguments: Any) -> dict[str, Any]:
    user._requests += 1
    user.say(c.Call(user._requests, verb, arguments))
    user.net.until(lambda: user.said(user._requests))
    reply = user.said(user._requests)
    assert reply is not None and reply.code == "", reply
    value: dict[str, Any] = reply.value
    return value


def shown(value: dict[str, Any]) -> dict[str, dict[str, int]]:
    return {row["address"]: {n["node"]: n["consumers"] for n in row["nodes"]} for row in value["addresses"]}


def serving(node: SimNode, name: str, *addresses: str) -> User:
    user = User(node, name)
    for number, address in enumerate(addresses, 1):
        user.serve(address, number)
    return user


def test_the_list_is_that_of_the_whole_mesh_whoever_is_asked() -> None:
    net = SimNetwork()
    a, b, c_ = net.mesh("a", "b", "c")
    serving(a, "one", "x", "y")
    serving(a, "two", "x")
    serving(b, "three", "x", "calc/add")
    whole = {"calc/add": {"b": 1}, "x": {"a": 2, "b": 1}, "y": {"a": 1}}
    for node in (a, b, c_):
        value = listed(User(node, f"asker-{node.name}"))
        assert (shown(value), value["next"], value["missing"]) == (whole, "", [])


def test_what_is_served_at_one_node_only_is_no_news_to_others() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    User(a, "one").serve("x", local_only=True)
    assert shown(listed(User(b, "asker"))) == {}


def test_pages_hold_each_address_once() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    serving(a, "one", *(f"n/{n:02}" for n in range(0, 20, 2)))
    serving(b, "two", *(f"n/{n:02}" for n in range(0, 20, 3)))
    asker, found, after = User(b, "asker"), [], ""
    while True:
        value = listed(asker, limit=3, after=after)
        assert len(value["addresses"]) <= 3
        found += list(shown(value).items())
        if not value["next"]:
            break
        after = value["next"]
    assert [address for address, _ in found] == sorted(
        {f"n/{n:02}" for n in (*range(0, 20, 2), *range(0, 20, 3))}
    )
    assert dict(found)["n/06"] == {"a": 1, "b": 1}


def test_of_a_node_that_says_no_more_nothing_is_told_behind_the_end_of_its_page() -> None:
    def rows(node: str, *addresses: str) -> list[ServedRow]:
        return [ServedRow(address=x, nodes=[ServedAt(node=node, uuid="", consumers=1)]) for x in addresses]

    pages = [ServedRows(addresses=rows("a", "p", "q"), next="q"), ServedRows(addresses=rows("b", "o", "z"))]
    found = merged(pages, AskAddresses(), ["c"])
    assert [row.address for row in found.addresses] == ["o", "p", "q"]
    assert (found.next, found.missing) == ("q", ["c"])
    last = merged([ServedRows(), ServedRows(addresses=rows("b", "z"))], AskAddresses(after="q"), [])
    assert [row.address for row in last.addresses] == ["z"]
    assert last.next == ""


def test_a_node_that_hangs_is_named_as_missing() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    serving(a, "one", "x")
    asker = User(b, "asker")
    listed(asker)
    Mute(a)
    value = listed(asker)
    assert (shown(value), value["missing"]) == ({}, ["a"])


def test_to_whom_a_message_would_go_is_told_without_one() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    serving(a, "one", "x")
    serving(a, "two", "x")
    serving(b, "three", "x")
    asker = User(b, "asker")
    told = called(asker, "servers", address="x")
    rows = {row["node"]: (row["consumers"], row["is_here"]) for row in told["servers"]}
    assert rows == {"a": (2, False), "b": (1, True)}
    assert (told["strategy"], told["is_ordered"], told["text"]) == ("RoundRobin", True, "")
    first = told["servers"][0]["node"]
    assert called(asker, "servers", address="x")["servers"][0]["node"] != first, "a look is a turn, too"


def test_why_it_would_go_to_nobody_is_told() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    serving(a, "one", "calc/add")
    asker = User(b, "asker")
    called(asker, "servers", address="calc/add")
    told = called(asker, "servers", address="calc/ad")
    assert (told["servers"], "calc/add" in told["text"]) == ([], True)
    asker.say(c.Call(99, "servers", {"address": "queue/x"}))
    net.until(lambda: asker.said(99))
    reply = asker.said(99)
    assert reply is not None and reply.code == "BAD_NAME"
