"""Texts of other users reach a terminal, the log and the events without control characters."""

import logging
import subprocess
import sys
import unicodedata
from types import SimpleNamespace
from typing import Any

import pytest

from mesh.cli import metrics
from mesh.cli.main import main
from mesh.client.batch import Batch
from mesh.client.events import Event
from mesh.client.message import Message
from mesh.errors import LocalError
from mesh.kernel.context.facts import EventOccurred
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.settings import Settings
from mesh.metrics.family import Family
from mesh.shell.logs import FORMATS
from mesh.wire.commands import Introduction
from mesh.wire.envelope import Envelope
from tests.mesh.cli.fake import FakeClient, Given
from tests.mesh.cli.rows import row

MARKS = "\u202e\u2066\u2028\u2029\u200b\u3164\x1b[2J\x9b\ufeff"
EVIL = f"a{MARKS}b"
Capture = pytest.CaptureFixture[str]


def is_harmless(text: str) -> bool:
    shown = text.replace("\n", "").replace("\t", "")
    kinds = {unicodedata.category(letter) for letter in shown}
    return not kinds & {"Cc", "Cf", "Zl", "Zp"} and "\u3164" not in shown


def evil_message() -> Message:
    content = EVIL.encode()
    return Batch(
        Envelope(
            stream=bytes(16),
            domain=EVIL,
            first=1,
            last=1,
            keys=(EVIL,),
            count=1,
            sizes=len(content).to_bytes(4, "little"),
            body=content,
            props=0,
            sender=EVIL,
        )
    )[0]


class Evil:
    """A node that answers every call with control characters in each text."""

    def __call__(self, verb: str, **_: Any) -> dict[str, Any]:
        node = {**row("a"), "name": EVIL, "address": EVIL, "link": EVIL, "state": EVIL, "via": EVIL}
        me = {**row("b", via="self"), "name": EVIL}
        event = {"number": 1, "wall": 0, "kind": "joined", "node": EVIL, "uuid": "", "boot": 1, "text": EVIL}
        return {
            "ls": {"nodes": [me, node], "scope": "mesh", "links": "any", "keys": True},
            "queue_ls": {"queues": [{"name": EVIL, "ready": 1}]},
            "peers": {"peers": [{"address": EVIL, "kind": EVIL, "node": EVIL, "state": EVIL, "seen": 1.0}]},
            "peer": {"changed": True},
            "info": {"name": EVIL, "uptime": 1.0, "metrics": {EVIL: 1}},
            "events": {"events": [event], "next": 1, "boot": 1}
            if not _.get("after")
            else {"events": [], "next": 1, "boot": 1},
            "weights": {
                "weights": {EVIL: [1.0, EVIL]},
                "expires": 0,
                "made": 0,
                "by": EVIL,
                "stamp": 1,
                "expired": True,
                "behind": [EVIL],
                "strategy": EVIL,
            },
        }[verb]  # type: ignore[return-value]


def step() -> dict[str, str]:
    return {"node": EVIL, "decision": "forward", "next": EVIL, "why": EVIL}


@pytest.mark.parametrize(
    "typed",
    [
        ["ls"],
        ["top", "--once"],
        ["info"],
        ["events"],
        ["peer", "ls"],
        ["weights", "show"],
        ["get", "k"],
        ["erase", "k"],
        ["route", "k"],
        ["erase", EVIL],
    ],
)
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_trial_A7_no_verb_prints_marks_that_others_chose(
    given: Given, capsys: Capture, typed: list[str], options: list[str]
) -> None:
    given(call=Evil(), get=[evil_message()], erase=[EVIL], route=[step()])
    main([*typed, *(options if typed[0] != "erase" else [])])
    out, err = capsys.readouterr()
    assert out and is_harmless(out) and is_harmless(err)


@pytest.mark.parametrize("verb", ["ls", "get", "erase", "route"])
def test_trial_A7_no_error_carries_marks_to_the_terminal(given: Given, capsys: Capture, verb: str) -> None:
    error = LocalError(EVIL, hint=EVIL, code="REFUSED")
    given(call=error, get=error, erase=error, route=error)
    assert main([verb, *([] if verb == "ls" else ["k"])]) == 2
    assert "\\u202e" in (said := capsys.readouterr().err) and is_harmless(said)


def test_trial_A7_what_happens_to_a_connection_is_told_in_one_line(given: Given, capsys: Capture) -> None:
    from mesh.cli.options import tell_of_connection

    class Told(FakeClient):
        def events(self) -> Any:
            return iter([Event("refused", f"{EVIL}\nforged")])

    tell_of_connection(Told())  # type: ignore[arg-type]
    said = ""
    while not said:
        said += capsys.readouterr().err
    assert is_harmless(said) and said.count("\n") == 1


def test_trial_A7_neither_log_nor_events_hold_marks() -> None:
    record = logging.LogRecord("mesh", logging.WARNING, "", 1, "%s", (EVIL,), None)
    assert all(is_harmless(how().format(record)) for how in FORMATS.values())
    me = Introduction(b"m" * 16, "bilbo", 1, "")
    context = NodeContext(Settings(me=me), bytes, lambda: 0.5)
    context.event("refused", EVIL, level="warning")
    [fact] = context.facts.queue
    assert isinstance(fact, EventOccurred) and is_harmless(fact.text) and "\\u202e" in fact.text


def test_trial_A7_what_click_says_of_a_command_line_is_harmless_too(capfd: Capture) -> None:
    for line in (["pub", "x", "--file", "/nope/\u202e"], ["info", "\u202e", "\u202e"], ["\u202e"]):
        assert main(line) == 2
    said = capfd.readouterr().err
    assert "\u202e" not in said and r"\u202e" in said and len(said.splitlines()) > 3


def test_an_output_that_is_full_is_told_as_that() -> None:
    with open("/dev/full", "w") as full:
        line = [sys.executable, "-m", "mesh", "--help"]
        ended = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 2 and "[BUG]" not in ended.stderr and "CANNOT_WRITE" in ended.stderr


def test_metrics_carry_no_marks_of_a_queue_to_the_terminal(
    given: Given, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(call={})
    evil = Family("mesh_queue_ready", "gauge", "What waits", [({"queue": EVIL}, 1.0)])
    monkeypatch.setattr(metrics, "read_result", lambda kind, value: SimpleNamespace(queues=(), addresses=()))
    monkeypatch.setattr(metrics, "families", lambda *_: [evil])
    assert main(["metrics"]) == 0
    out = capsys.readouterr().out
    assert "mesh_queue_ready" in out and is_harmless(out)
