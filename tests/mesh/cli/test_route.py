"""`mesh route`: each hop is shown with its rule, and the exit code says whether a message arrives."""

import json
from typing import Any

import pytest

from mesh.cli.main import main
from tests.mesh.cli.fake import Given


def step(node: str, decision: str, then: str = "", why: str = "because") -> dict[str, str]:
    return {"node": node, "decision": decision, "next": then, "why": why}


def test_route_tells_each_hop_and_its_rule(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    fake = given(
        route=[
            step("bilbo", "forward", "frodo", "DOMAIN RUGBY_NEWS, stratum 1"),
            step("frodo", "forward", "heron", "DOMAIN RUGBY_NEWS, stratum 0"),
            step("heron", "here", "", "DOMAIN RUGBY_NEWS, stratum 0: master"),
        ]
    )
    assert main(["route", "scores", "--domain", "RUGBY_NEWS", "--from", "bilbo"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "bilbo forward to frodo DOMAIN RUGBY_NEWS, stratum 1",
        "frodo forward to heron DOMAIN RUGBY_NEWS, stratum 0",
        "heron here DOMAIN RUGBY_NEWS, stratum 0: master",
    ]
    assert fake.asked == [("route", ("scores",), {"domain": "RUGBY_NEWS", "to": "", "node": "bilbo"})]


@pytest.mark.parametrize(
    ("last", "said"),
    [
        (step("b", "wait", "c"), "b wait for c because"),
        (step("b", "wait"), "b wait for an unknown master because"),
        (step("b", "refuse", "a", "routing loop: a -> b -> a"), "b refuse routing loop: a -> b -> a"),
        (step("b", "forward", "c"), "b forward to c because"),
    ],
)
def test_route_says_by_its_exit_code_that_it_would_not_arrive(
    given: Given, capsys: pytest.CaptureFixture[str], last: dict[str, str], said: str
) -> None:
    given(route=[step("a", "forward", "b"), last])
    assert main(["route", "--to", "client/joe"]) == 1
    told = capsys.readouterr()
    assert " ".join(told.out.splitlines()[1].split()) == said
    assert "mesh ls" in told.err


def test_route_says_whether_it_would_go_to_another_site(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    joe, add = "/site/NYC/node/x/client/joe", "/site/NYC/calc/add"
    fake = given(route=[step("a", "forward", "site/NYC")], call={"site": "LON"})
    assert main(["route", "--to", joe]) == main(["route", "--to", add]) == 0
    told = capsys.readouterr()
    assert (" ".join(told.out.split()).count("a forward to site/NYC because"), told.err) == (2, "")
    assert [options["to"] for name, _, options in fake.asked if name == "route"] == [joe, add]
    given(route=[step("a", "refuse", "site/NYC")], call={"site": "LON"})
    assert main(["route", "--to", joe]) == main(["route", "--to", add]) == 1
    assert capsys.readouterr().err.count("mesh ls --sites") == 2


def test_route_as_json_is_the_steps(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    steps = [step("a", "wait", "b")]
    given(route=steps)
    assert main(["route", "k", "--json"]) == 1
    told = capsys.readouterr()
    assert (json.loads(told.out), told.err) == (steps, "")


def test_route_wants_to_know_of_what(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["route"]) == 2
    assert "Give KEY" in capsys.readouterr().err


def server(node: str, **more: Any) -> dict[str, Any]:
    return {
        "node": node, "uuid": "00", "consumers": 1, "is_here": False, "load": None, "outstanding": 0,
        "latency": 0.0, "weight": 1.0, **more,
    }  # fmt: skip


def test_route_tells_to_whom_a_message_to_an_address_would_go(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [server("b", load=0.5, outstanding=7, latency=0.012), server("a", is_here=True, consumers=2)]
    told = {"servers": rows, "strategy": "RoundRobin", "is_ordered": True, "text": ""}
    fake = given(call=told)
    assert main(["route", "--to", "calc/add"]) == 0
    said = capsys.readouterr()
    lines = [" ".join(line.split()) for line in said.out.splitlines()]
    assert lines[1:] == ["next b 1 50 % 7 12 ms 1", "2. a * 2 - 0 - 1"]
    assert said.err == "3 servers at 2 nodes; RoundRobin chooses, in this order\n"
    assert fake.asked == [("call", ("servers",), {"address": "calc/add"})]


def test_route_to_an_address_of_the_own_site_is_the_way_of_one_here(given: Given) -> None:
    told = {"servers": [server("a")], "strategy": "RoundRobin", "is_ordered": True, "text": ""}
    fake = given(call=lambda verb, **_: {"sites": {"site": "LON"}, "servers": told}[verb])
    assert main(["route", "--to", "/site/LON/calc/add"]) == 0
    assert fake.asked[-1] == ("call", ("servers",), {"address": "calc/add"})


def test_route_says_when_nobody_serves_an_address(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    given(call={"servers": [], "strategy": "RoundRobin", "is_ordered": True, "text": "nobody serves 'x'."})
    assert main(["route", "--to", "x"]) == 1
    assert "nobody serves 'x'. [NO_HANDLERS]" in capsys.readouterr().err
    assert main(["route", "--to", "x", "--from", "b"]) == main(["route", "--to", "queue/x"]) == 2
