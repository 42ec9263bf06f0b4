"""`mesh send`: each line is sent, and the outcome is reported."""

import io
from collections.abc import Iterator

import pytest

from mesh.cli.main import main
from mesh.client.sending import Sent
from mesh.errors import MeshError, NotConnected, SiteUnreachable, TailBackFull
from mesh.remote_names import UNKNOWN
from mesh.values import Published
from tests.mesh.cli.fake import FakeClient, Given

JOE = FakeClient.name


WAITS = "waits at bilbo for frodo (polling)"


def typed(monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    """Put a text on stdin."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))


def ok(matched: int) -> Published:
    return Published("OK", "id", matched)


def warned(note: str = WAITS) -> Published:
    return Published("FORWARD_WARNING", "id", 0, note)


@pytest.mark.parametrize(
    ("published", "said"),
    [
        (ok(1), "accepted by 1 session"),
        (ok(2), "accepted by 2 sessions"),
        (ok(0), "queued for the receiver"),
        (warned("waits at bilbo for heron"), "FORWARD_WARNING: waits at bilbo for heron"),
    ],
)
def test_send_says_who_has_it(
    given: Given, capsys: pytest.CaptureFixture[str], published: Published, said: str
) -> None:
    given(send=published)
    assert main(["send", JOE, "hello"]) == 0
    assert capsys.readouterr() == ("", f"sent to {JOE}: {said}\n")


def test_send_hands_on_all_that_was_given(given: Given) -> None:
    fake = given(send=ok(1))
    assert main([
        "send", JOE, "hello", "--domain", "D", "--force-queuing", "--persistent", "--header", "a=1",
        "--expiry", "5", "--one", "--client", "ann", "--session", "3", "--url", "heron",
    ]) == 0  # fmt: skip
    [(_, arguments, options)] = fake.asked
    assert arguments == (JOE, b"hello")
    assert options.pop("headers")["A"] == "1"
    assert options == {
        "force_queuing": True, "domain": "D", "persistent": True, "expiry": 5.0, "delivery": "one",
    }  # fmt: skip
    assert fake.opened == {"url": "heron", "client": "ann", "session": 3}


def test_send_sends_each_line(
    given: Given, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, b"1\n\n\xff\n")
    fake = given(send=ok(1))
    assert main(["send", JOE]) == 0
    assert [arguments[1] for _, arguments, _ in fake.asked] == [b"1", b"", b"\xff"]
    assert capsys.readouterr().err == f"sent 3 lines to {JOE}: accepted by 1 session\n"


def test_send_counts_the_outcomes_of_many_lines(
    given: Given, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = iter([ok(1), ok(0), ok(0), warned("waits")])
    typed(monkeypatch, b"1\n2\n3\n4\n")
    given(send=lambda *_, **__: next(outcomes))
    assert main(["send", JOE]) == 0
    assert capsys.readouterr().err == (
        f"sent 4 lines to {JOE}, 1 accepted by 1 session, 2 queued for the receiver, "
        "1 FORWARD_WARNING: waits\n"
    )


def test_a_session_that_is_away_is_an_error_that_says_how_to_wait_for_it(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    given(send=NotConnected("joe is not connected."))
    assert main(["send", JOE, "hello"]) == 2
    assert capsys.readouterr().err == (
        "mesh: joe is not connected. [NOT_CONNECTED]\n"
        "      To queue it until a receiver connects: --force-queuing\n"
    )


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize(("what", "may_wait"), [(f"a {UNKNOWN} NYX.", False), ("no way leads there.", True)])
def test_no_letter_is_said_to_wait_for_a_site_that_is_not_known_or_that_would_wait_already(
    given: Given, capsys: pytest.CaptureFixture[str], what: str, may_wait: bool, forced: bool
) -> None:
    given(send=SiteUnreachable(what))
    assert main(["send", f"/site/NYX{JOE}", "hello", *["--force-queuing"] * forced]) == 2
    assert ("--force-queuing" in capsys.readouterr().err) == (may_wait and not forced)


def test_of_many_lines_the_one_that_was_refused_is_named(
    given: Given, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes: Iterator[Published | MeshError] = iter([ok(1), TailBackFull("no room.")])
    typed(monkeypatch, b"1\n2\n3\n")
    given(send=lambda *_, **__: next(outcomes))
    assert main(["send", JOE]) == 2
    assert capsys.readouterr().err == "mesh: line 2: no room. [TAILBACK_FULL]\n"


def test_several_destinations_have_a_line_each_and_a_refusal_sets_the_exit_code(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = given(send=[Sent(JOE, ok(1)), Sent("log", error=NotConnected("nobody."))])
    assert main(["send", JOE, "hello", "--to", "log", "--force-queuing"]) == 1
    [(_, arguments, options)] = fake.asked
    assert arguments == ([JOE, "log"], b"hello") and options["force_queuing"]
    assert capsys.readouterr().err == (
        f"sent to {JOE}: accepted by 1 session\nsent to log: refused: nobody. [NOT_CONNECTED]\n"
    )


def test_each_line_goes_to_each_of_several_destinations(
    given: Given, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = iter([ok(1), ok(0), ok(0)])
    typed(monkeypatch, b"1\n2\n3\n")
    given(send=lambda to, *_, **__: [Sent(to[0], ok(1)), Sent(to[1], next(outcomes))])
    assert main(["send", JOE, "--to", "/node/heron/client/ann"]) == 0
    ann = "sent to /node/heron/client/ann"
    assert capsys.readouterr().err == (
        f"sent to {JOE}: accepted by 1 session (3 lines)\n{ann}: accepted by 1 session\n"
        f"{ann}: queued for the receiver (2 lines)\n"
    )


def test_an_xpath_has_a_line_for_each_session_and_none_is_a_negative_result(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [Sent(JOE, ok(1))]
    fake = given(send=lambda *_, **__: found)
    assert main(["send", "xpath://client", "hello"]) == 0
    assert fake.asked[0][1][0] == ["xpath://client"]
    found.clear()
    assert main(["send", "xpath://client", "hello"]) == 1
    assert capsys.readouterr().err == (f"sent to {JOE}: accepted by 1 session\nmesh: no receiver was found\n")
