"""The fault lab of services: its counts, and a short run without a violation."""

import pytest

from tests.pages import ROOT, commands
from tests.tools.lab_parts.test_lab_parts import lab
from tools.lab_parts.service_ledger import LATE, SLACK, Book, figures, judged
from tools.running.service_records import NOBODY, asked_lines, served_lines

ANN, JOE, SUE = "asker-1-1", "server-1-1", "server-2-1"
LIMIT = 5.0


def book(
    asked: str,
    served: dict[str, str] | None = None,
    *,
    kind: str = "one",
    to: str = "many/here",
    fate: str = "reply",
    calm: float = 1e9,
) -> Book:
    """Return the records of one request, each word a second after the one before.

    got=SERVER is a reply of this server, and stray=SERVER a reply of it that names another request.
    """
    lines = [f"0.0 asked {ANN} 7 {kind} {to} {fate} 0.010 {LIMIT}\n"]
    for at, word in enumerate(asked.split(), start=1):
        what, _, server = word.partition("=")
        if server:
            lines.append(f"{at}.0 got {ANN} 7 {server} {ANN} {7 if what == 'got' else 8}\n")
        else:
            lines.append(f"{at}.0 ended {ANN} 7 {word}\n")
    written = {
        life: [f"{at}.5 {what} {ANN} 7\n" for at, what in enumerate(words.split())]
        for life, words in (served or {}).items()
    }
    return Book(
        asked_at={ANN: "heron"},
        served_at={JOE: "heron", SUE: "egret"},
        asked={ANN: asked_lines(lines)},
        served={life: served_lines(each) for life, each in written.items()},
        calm=calm,
    )


def wrong(made: Book) -> list[str]:
    return [anomaly.what for anomaly in judged(made)]


DONE = {JOE: "began replying"}


@pytest.mark.parametrize(
    ("asked", "served", "found"),
    [
        (f"got={JOE} OK", DONE, []),
        ("TIMEOUT", {}, []),
        ("TIMEOUT", DONE, []),  # perhaps it was executed
        ("HANDLER_LOST", {JOE: "began"}, []),
        ("NO_HANDLERS", {}, []),
        ("NOT_TODAY", {JOE: "began failing"}, []),
        ("REQUEST_FAILED", {JOE: "began dropping"}, []),
        ("", DONE, ["no end"]),
        ("TIMEOUT HANDLER_LOST", {}, ["two ends"]),
        ("TIMEOUT", {JOE: "began", SUE: "began"}, ["run twice"]),
        ("TIMEOUT", {JOE: "began began"}, ["run twice"]),
        *(
            (code, {JOE: "began"}, ["run though refused"])
            for code in ("NO_HANDLERS", "EXPIRED", "ADDRESS_FULL")
        ),
        (f"stray={JOE} OK", DONE, ["wrong reply"]),
        (f"got={SUE} OK", DONE, ["wrong reply"]),  # by a server that was not asked
        (f"got={JOE} OK", {JOE: "began failing"}, ["wrong reply", "wrong reply"]),
        ("NOT_TODAY", DONE, ["wrong reply"]),
        ("REQUEST_FAILED", {JOE: "began"}, ["wrong reply"]),
        (f"got={JOE} got={JOE} OK", DONE, ["replied twice"]),
    ],
)
def test_what_is_wrong_with_a_request_is_found_and_nothing_else(
    asked: str, served: dict[str, str], found: list[str]
) -> None:
    assert wrong(book(asked, served)) == found


def test_what_may_be_begun_again_or_by_all_is_not_wrong() -> None:
    two = {JOE: "began", SUE: "began replying"}
    assert wrong(book(f"got={SUE} OK", two, kind="retried")) == []
    assert wrong(book(f"got={SUE} OK", two, kind="all")) == []
    assert wrong(book("OK", two, kind="told")) == ["run twice"]
    assert wrong(book("OK", {JOE: "began began"}, kind="all")) == ["run twice"]
    assert wrong(book(f"got={SUE} got={SUE} OK", two, kind="all")) == ["replied twice"]


def test_what_nobody_serves_is_begun_by_nobody() -> None:
    assert wrong(book("NO_HANDLERS", to=NOBODY)) == []
    assert wrong(book("TIMEOUT", {JOE: "began"}, to=NOBODY)) == ["run though refused"]


def test_a_caller_that_was_killed_may_have_heard_of_no_end() -> None:
    made = book("", DONE)
    made.killed.add(ANN)
    assert wrong(made) == []


def test_an_end_that_is_later_than_its_time_is_wrong_but_of_what_wants_no_reply() -> None:
    for kind, found in (("one", ["late end"]), ("told", [])):
        made = book("", {JOE: "began"}, kind=kind)
        late = asked_lines([f"{LIMIT + SLACK + 0.1} ended {ANN} 7 HANDLER_LOST\n"])
        made.asked[ANN] = [*made.asked[ANN], *late]
        assert wrong(made) == found


@pytest.mark.parametrize(
    ("asked", "served", "kind", "found"),
    [
        (f"got={JOE} OK", DONE, "one", []),
        ("NO_HANDLERS", {}, "one", ["not served"]),
        ("HANDLER_LOST", {JOE: "began"}, "one", ["not served"]),
        ("TIMEOUT", DONE, "one", ["not served"]),
        ("OK", {}, "all", ["not served"]),
        ("OK", {}, "told", ["not served"]),
        ("OK", {JOE: "began"}, "told", []),
    ],
)
def test_in_the_calm_at_the_end_each_has_what_its_server_made(
    asked: str, served: dict[str, str], kind: str, found: list[str]
) -> None:
    assert wrong(book(asked, served, kind=kind, calm=0.0)) == found
    assert wrong(book(asked, served, kind=kind)) == []


def test_in_the_calm_what_is_dropped_or_nobody_serves_may_take_its_time() -> None:
    assert wrong(book("TIMEOUT", {JOE: "began dropping"}, fate="drop", calm=0.0)) == []
    assert wrong(book("NO_HANDLERS", to=NOBODY, calm=0.0)) == []


def test_what_is_asked_and_done_is_counted() -> None:
    made = book("TIMEOUT", {SUE: "began"})
    made.served[SUE] = served_lines([f"{LIMIT + LATE + 0.1} began {ANN} 7\n"])
    found = figures(made)
    assert {what: n for what, n in found.items() if n} == {
        "asked": 1,
        "timed out": 1,
        "begun": 1,
        "elsewhere": 1,
        "begun late": 1,
    }


def test_a_line_that_was_not_written_to_its_end_is_none() -> None:
    assert asked_lines(["1.0 ended a 1 OK\n", "2.0 ended a 2"]) == asked_lines(["1.0 ended a 1 OK\n"])
    assert served_lines(["1.0 began a 1"]) == []


@pytest.mark.slow
def test_a_short_run_of_services_finds_nothing_wrong() -> None:
    [command] = [c for c in commands(ROOT / "docs" / "lab.md") if c.startswith("tools/lab services")]
    said = lab(*command.split()[1:], "--seconds", "8", limit=1800)
    assert said.returncode == 0, said.stdout + said.stderr
    assert "run twice" in said.stdout and "row" in said.stdout
