"""`mesh events`: past events once and in order, and then new ones."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import mesh
from mesh.cli import events
from mesh.cli.main import main
from mesh.errors import MeshTimeout
from mesh.features.queues.node.definitions.declaring import QUEUE
from mesh.features.queues.node.definitions.durables import DURABLES
from mesh.features.sites.node.gateway import WORDS
from mesh.kernel.states.own_state import WEIGHTS
from mesh.wire.limits import RULES
from tests.mesh.cli.fake import FakeClient, Given

NOON = 1_767_268_800_000_000_000


def happened(
    number: int, kind: str = "joined", node: str = "heron", text: str = "it joined"
) -> dict[str, Any]:
    return {"number": number, "wall": NOON, "kind": kind, "node": node, "uuid": "", "boot": 1, "text": text}


class Ring:
    """The events of a node, which returns two a call.

    When all were returned, the next item of `then` comes: new events, an error that is raised, or a boot,
    which forgets all events.
    """

    def __init__(self, *now: dict[str, Any], then: list[Any] | None = None) -> None:
        self._events = list(now)
        self._then = then or []
        self._boot = 1

    def __call__(self, verb: str, after: int) -> dict[str, Any]:
        assert verb == "events"
        found = [event for event in self._events if event["number"] > after][:2]
        answer = {"events": found, "next": found[-1]["number"] if found else after, "boot": self._boot}
        if not found and self._then:
            self._go_on(self._then.pop(0))
        return answer

    def _go_on(self, what: Any) -> None:
        match what:
            case BaseException():
                raise what
            case int():
                self._boot, self._events = what, []
            case _:
                self._events += what


FIVE = [happened(n, kind) for n, kind in enumerate(("joined", "suspect", "alive", "joined", "dead"), 1)]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "PAUSE", 0.001)


def numbers(capsys: pytest.CaptureFixture[str]) -> list[int]:
    return [json.loads(line)["number"] for line in capsys.readouterr().out.splitlines()]


def ask(given: Given, ring: Ring, *options: str) -> FakeClient:
    fake = given(call=ring)
    assert main(["events", *options]) == 0
    return fake


def test_all_that_the_node_remembers_is_told_the_newest_last(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = ask(given, Ring(*FIVE), "--json", "--url", "heron")
    assert numbers(capsys) == [1, 2, 3, 4, 5]
    assert fake.opened == {"url": "heron"}
    assert [options["after"] for _, _, options in fake.asked] == [0, 2, 4, 5]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--count", "2"], [4, 5]),
        (["--count", "9"], [1, 2, 3, 4, 5]),
        (["--kind", "joined"], [1, 4]),
        (["--kind", "joined", "--kind", "dead", "--count", "2"], [4, 5]),
        (["--kind", "left"], []),
    ],
)
def test_only_some_can_be_asked_for(
    given: Given, capsys: pytest.CaptureFixture[str], options: list[str], found: list[int]
) -> None:
    ask(given, Ring(*FIVE), "--json", *options)
    assert numbers(capsys) == found


def test_a_kind_that_there_is_not_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["events", "--kind", "died"]) == 2
    assert "'died' is not one of" in capsys.readouterr().err


def test_a_line_has_time_kind_node_and_text_and_harms_no_terminal() -> None:
    line = events.line(happened(1, "refused", "", "10.0.0.9: \x1b[2J\nwrong key"))
    day, clock, *rest = line.split()
    assert (len(day), len(clock)) == (10, 8)
    assert " ".join(rest) == r"refused - 10.0.0.9: \x1b[2J\nwrong key"


@pytest.mark.usefixtures("at_once")
def test_it_follows_what_comes_and_ends_after_so_many(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    ring = Ring(*FIVE, then=[[happened(6)], MeshTimeout("away."), [happened(7, "left")], [happened(8)]])
    ask(given, ring, "--follow", "--count", "7", "--json")
    assert numbers(capsys) == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.usefixtures("at_once")
def test_after_a_restart_of_the_node_it_goes_on_with_the_new_ones(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    ask(
        given,
        Ring(*FIVE, then=[2, [happened(1), happened(2)], [happened(3)]]),
        "-f",
        "--count",
        "8",
        "--json",
    )
    said = capsys.readouterr()
    told = [json.loads(line) for line in said.out.splitlines()]
    assert [event["number"] for event in told] == [1, 2, 3, 4, 5, 1, 2, 3]
    assert [event["observer_boot"] for event in told] == [1] * 5 + [2] * 3
    assert said.err == ""


@pytest.mark.usefixtures("at_once")
def test_events_that_were_overwritten_before_they_were_read_are_missed_aloud(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    ask(given, Ring(happened(1), then=[[happened(5)]]), "-f", "--count", "2", "--json")
    said = capsys.readouterr()
    assert [json.loads(line)["number"] for line in said.out.splitlines()] == [1, 5]
    assert said.err == "3 events missed, because too many came at once\n"


def test_each_kind_of_event_can_be_asked_for() -> None:
    sources = [path.read_text() for path in Path(mesh.__file__).parent.rglob("*.py")]
    said = {kind for text in sources for kind in re.findall(r"\.event\(\s*\"([a-z-]+)\",", text)}
    of_sites = {f"site-{state}" for state in WORDS}
    assert "refused" in said
    assert said | of_sites | {QUEUE, DURABLES, RULES, WEIGHTS} <= set(events.KINDS)
