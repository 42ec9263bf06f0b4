"""What do the verbs make of a node's answers? Without a node."""

import io
import json
from collections.abc import Iterator

import pytest

from mesh.cli import show
from mesh.cli.main import main
from mesh.cli.options import headers, size
from mesh.cli.sub import lines_of, raw_lines
from mesh.client.message import Batch, FoundMessage, Message
from mesh.errors import MasterAway, MeshError, MeshTimeout, NotConnected, SiteUnreachable, TailBackFull
from mesh.sites.letters import UNKNOWN
from mesh.values import Headers, Published
from mesh.wire.envelope import ERASED, Envelope
from mesh.wire.properties import Properties, encode_properties
from tests.mesh.cli.fake import FakeClient, Given
from tests.mesh.envelopes import envelope

JOE = FakeClient.name
WAITS = "waits at bilbo for frodo (polling)"


def typed(monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    """On stdin."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))


def ok(matched: int) -> Published:
    return Published("OK", "id", matched)


def warned(note: str = WAITS) -> Published:
    return Published("FORWARD_WARNING", "id", 0, note)


# --- send ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("published", "said"),
    [
        (ok(1), "taken by 1 session"),
        (ok(2), "taken by 2 sessions"),
        (ok(0), "queued for it"),
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
        "--expiry", "5", "--client", "ann", "--session", "3", "--url", "heron",
    ]) == 0  # fmt: skip
    [(_, arguments, options)] = fake.asked
    assert arguments == (JOE, b"hello")
    assert options.pop("headers")["A"] == "1"
    assert options == {"force_queuing": True, "domain": "D", "persistent": True, "expiry": 5.0}
    assert fake.opened == {"url": "heron", "client": "ann", "session": 3}


def test_send_sends_each_line(
    given: Given, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, b"1\n\n\xff\n")
    fake = given(send=ok(1))
    assert main(["send", JOE]) == 0
    assert [arguments[1] for _, arguments, _ in fake.asked] == [b"1", b"", b"\xff"]
    assert capsys.readouterr().err == f"sent 3 lines to {JOE}: taken by 1 session\n"


def test_send_counts_the_outcomes_of_many_lines(
    given: Given, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = iter([ok(1), ok(0), ok(0), warned("waits")])
    typed(monkeypatch, b"1\n2\n3\n4\n")
    given(send=lambda *_, **__: next(outcomes))
    assert main(["send", JOE]) == 0
    assert capsys.readouterr().err == (
        f"sent 4 lines to {JOE}, 1 taken by 1 session, 2 queued for it, 1 FORWARD_WARNING: waits\n"
    )


def test_a_session_that_is_away_is_an_error_that_says_how_to_wait_for_it(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    given(send=NotConnected("joe is not connected."))
    assert main(["send", JOE, "hello"]) == 2
    assert capsys.readouterr().err == (
        "mesh: joe is not connected. [NOT_CONNECTED]\n"
        "      To let it wait until somebody is there: --force-queuing\n"
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


# --- inbox --------------------------------------------------------------------------------------------


class Inbox:
    """Messages, then silence."""

    def __init__(self, *messages: Message) -> None:
        self._messages = list(messages)

    def __enter__(self) -> "Inbox":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing was opened."""

    def next_message(self, timeout: float | None) -> Message:
        if not self._messages:
            raise MeshTimeout("none.")
        return self._messages.pop(0)


def letter(content: bytes, key: str = "") -> Message:
    body = Envelope(
        bytes(16), "", 1, 1, (key,), 1, len(content), content, sender="/node/a/client/ann/session/2", to=JOE
    )
    return Batch(body)[0]


class Gapped:
    """A subscription that begins with a gap."""

    dropped = 65

    def __enter__(self) -> "Gapped":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing was opened."""

    def next_batch(self, timeout: float | None) -> Batch:
        return Batch(envelope("k"))


def test_sub_blames_its_reader_for_a_gap_no_more_than_the_way_from_another_site(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    given(subscribe=Gapped())
    assert main(["sub", "k", "--count", "1"]) == 0
    said = capsys.readouterr().err
    assert "dropped 65 messages (65 in all): this reader is too slow, or there was no room" in said


@pytest.mark.parametrize(
    ("options", "out"),
    [
        ([], "/node/a/client/ann/session/2  one\n/node/a/client/ann/session/2  greeting  two\\n\n"),
        (["--raw"], "one\ntwo\n\n"),
    ],
)
def test_inbox_prints_who_sent_what(
    given: Given, capsys: pytest.CaptureFixture[str], options: list[str], out: str
) -> None:
    fake = given(inbox=Inbox(letter(b"one"), letter(b"two\n", "greeting")))
    assert main(["inbox", "--count", "2", "--client", "joe", "--session", "1", *options]) == 0
    assert capsys.readouterr() == (out, f"listening for {JOE}\n")
    assert fake.opened == {"url": None, "client": "joe", "session": 1}


def test_inbox_ends_when_its_time_is_over(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    given(inbox=Inbox(letter(b"one")))
    assert main(["inbox", "--wait", "1", "--json"]) == 124
    said = capsys.readouterr()
    assert (json.loads(said.out)["to"], said.err.splitlines()[1]) == (JOE, "mesh: 1 s are over. [TIMEOUT]")


@pytest.mark.parametrize(
    ("released", "code", "said"),
    [
        (["/node/a/client/joe"], 0, "/node/a/client/joe is released: whoever opens it first has it\n"),
        ([], 1, "the inbox of joe belongs to nobody here\n"),
    ],
)
def test_trial_A5_inbox_release_says_what_is_free(
    given: Given, capsys: pytest.CaptureFixture[str], released: list[str], code: int, said: str
) -> None:
    fake = given(call={"released": released})
    assert main(["inbox", "release", "joe", "--url", "a"]) == code
    assert capsys.readouterr() == ("", said)
    assert fake.opened == {"url": "a"}


# --- dlq ----------------------------------------------------------------------------------------------


def dead(number: int, to_others: bool, to: str = "") -> Message:
    headers = [("dead-code", "EXPIRED"), ("dead-id", f"{'0' * 32}:{number}")]
    headers += (
        [("dead-private", "…")]
        if to_others
        else [("dead-key", "greeting"), ("dead-sender", JOE), ("dead-to", to)]
    )
    props = encode_properties(Properties(Headers(headers)))
    body = Envelope(
        bytes(16),
        "",
        number,
        number,
        (f"__sys__deadMessage/{number}",),
        1,
        len(props),
        props,
        props=len(props).to_bytes(4, "little"),
    )
    return Batch(body)[0]


def test_trial_A5_letters_to_others_are_counted_and_left_alone(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    letters = [dead(1, True), dead(2, False), dead(3, True)]
    fake = given(get=letters, erase=["k"])
    said = "2 letters to others, which they, their senders and nodes may read: 2 EXPIRED"
    assert main(["dlq", "ls"]) == 0
    out, err = capsys.readouterr()
    assert "greeting" in out and out.count("EXPIRED") == 1 and err == f"{said}\n"
    assert main(["dlq", "purge", "--all"]) == 0
    assert capsys.readouterr().err == f"{said}\npurged 1 dead letter\n"
    assert [asked[1] for asked in fake.asked if asked[0] == "erase"] == [("__sys__deadMessage/2",)]


def test_letters_of_a_queue_are_chosen_by_its_name(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    letters = [dead(1, True), dead(2, False), dead(3, False, "queue/jobs"), dead(4, False, "queue/jobs/new")]
    fake = given(get=letters, erase=["k"])
    assert main(["dlq", "ls", "--queue", "jobs"]) == 0
    out, err = capsys.readouterr()
    assert out.count("queue/jobs") == out.count(":3") == 1 and "greeting" not in out and err == ""
    assert main(["dlq", "ls"]) == 0
    assert capsys.readouterr().out.count("queue/jobs") == 2
    assert main(["dlq", "ls", "--queue", "mails"]) == 1
    assert capsys.readouterr().err == "there is no dead letter of the queue 'mails'\n"
    assert main(["dlq", "purge", "--queue", "jobs", "--all"]) == 0
    assert capsys.readouterr().err == "purged 1 dead letter\n"
    assert [asked[1] for asked in fake.asked if asked[0] == "erase"] == [("__sys__deadMessage/3",)]
    for verb in ("replay", "purge"):
        assert main(["dlq", verb, "--queue", "mails", "--all"]) == 0
        assert "there is no dead letter of the queue 'mails'\n" in capsys.readouterr().err
        assert main(["dlq", verb, "--queue", "jobs"]) == 2, "neither ids nor --all"
        assert main(["dlq", verb, "--queue", "jobs", "0" * 32 + ":4"]) == 2, "it was in another one"
    assert main(["dlq", "ls", "--queue", "node/x"]) == 2 and "[BAD_NAME]" in capsys.readouterr().err


# --- erase --------------------------------------------------------------------------------------------


def test_erase_prints_what_is_gone(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    fake = given(erase=["k"])
    assert main(["erase", "k", "--domain", "D"]) == 0
    assert capsys.readouterr() == ("k\n", "erased 1 topic\n")
    assert fake.asked == [("erase", ("k",), {"domain": "D"})]


def test_erase_says_by_its_exit_code_that_there_was_nothing(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    given(erase=[])
    assert main(["erase", "k"]) == 1
    said = capsys.readouterr()
    assert (said.out, "mesh route k" in said.err) == ("", True)


# --- route --------------------------------------------------------------------------------------------


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
        (step("b", "wait"), "b wait for a master that nobody knows because"),
        (
            step("b", "refuse", "a", "the rules send it in a circle: a -> b -> a"),
            "b refuse the rules send it in a circle: a -> b -> a",
        ),
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
    assert "Give a KEY" in capsys.readouterr().err


# --- get and sub --------------------------------------------------------------------------------------


def test_get_tells_the_source_of_each_value_as_json(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    fake = given(get=[FoundMessage.of(Batch(envelope("k"))[0], "heron", 2.5)])
    assert main(["get", "k", "--json", "--fresh"]) == 0
    [told] = json.loads(capsys.readouterr().out)
    assert (told["key"], told["source"], told["stale"]) == ("k", "heron", 2.5)
    assert fake.asked[0][2]["fresh"] is True


def test_get_warns_of_values_whose_master_is_out_of_reach(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = Batch(envelope("a b", [b"1", b"2"]))
    given(get=[FoundMessage.of(first, "here", 130.0), FoundMessage.of(second, "here", None)])
    assert main(["get", "#"]) == 0
    told = capsys.readouterr()
    assert told.out == "a  1\nb  2\n"
    assert told.err == "1 value may be stale: the master has been out of reach for up to 2 m\n"


def test_get_says_when_the_master_is_away(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    given(get=MasterAway("frodo, master of k, cannot be reached."))
    assert main(["get", "k"]) == 2
    assert "[MASTER_AWAY]" in capsys.readouterr().err


def test_that_a_topic_was_erased_is_shown_and_has_no_raw_content() -> None:
    batch = Batch(envelope("k", flags=ERASED))
    assert lines_of(show.line)(batch, 1) == b"k  (erased)\n"
    assert raw_lines(batch, 1) == b""
    assert json.loads(show.json_line(batch[0]))["state"] == "ERASED"


# --- pub ----------------------------------------------------------------------------------------------


class Posted:
    """A receipt."""

    def result(self) -> Published:
        return ok(2)


@pytest.mark.parametrize(
    ("waiting", "said"),
    [
        ((3, WAITS), f"published 3 lines to k, 3 of them wait: {WAITS}"),
        ((1, WAITS), f"published 3 lines to k, 1 of them wait: {WAITS}"),
        ((0, WAITS), "published 3 lines to k, 2 receivers, "),
    ],
)
def test_pub_says_how_many_wait_and_for_whom(
    given: Given,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    waiting: tuple[int, str],
    said: str,
) -> None:
    typed(monkeypatch, b"1\n2\n3\n")
    given(post=lambda *_, **__: Posted(), flush=None, waiting=waiting)
    assert main(["pub", "k"]) == 0
    assert capsys.readouterr().err.startswith(said)


# --- what verbs share ---------------------------------------------------------------------------------


def test_headers_are_pairs() -> None:
    assert headers(()) is None
    found = headers(("A=1=2", "b="))
    assert found is not None and list(found.items()) == [("A", "1=2"), ("b", "")]


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 KB"), (1234, "1.2 KB"), (34_000_000, "34 MB"), (10**10, "10 GB")],
)
def test_a_size_reads_well(number: int, text: str) -> None:
    assert size(number) == text
