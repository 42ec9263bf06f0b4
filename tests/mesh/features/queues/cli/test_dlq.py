"""`mesh dlq`: the list of dead letters, their replay and removal."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click
import pytest

from mesh import sync
from mesh.cli.main import main
from mesh.client.batch import Batch
from mesh.client.message import Message
from mesh.errors import BadName
from mesh.features.queues.cli.dlq import chosen
from mesh.features.queues.client.deadletters import DeadLetter
from mesh.values import Headers
from mesh.wire.envelope import Envelope
from mesh.wire.properties import Properties, encode_properties
from tests.mesh.cli.fake import Given
from tests.mesh.running import RunningNode, running, until

JOE = "/node/a/client/joe/session/1"


def letter(id: str, to: str = "") -> DeadLetter:
    return DeadLetter(
        f"k/{id}", id, "EXPIRED", "too long", "greeting", "RUGBY", JOE, to, 5, True,
        Headers([("colour", "red")]), b"hi",
    )  # fmt: skip


def test_the_beginning_of_an_id_will_do_if_no_other_begins_so() -> None:
    letters = [letter("abc:1"), letter("abd:1"), letter("abc:11")]
    assert chosen(letters, ["abd"], False) == [letters[1]]
    assert chosen(letters, ["abc:1"], False) == [letters[0]], "it is one, and the beginning of another"
    assert chosen(letters, ["abd", "abd:1"], False) == [letters[1]]
    assert chosen(letters, [], True) == letters
    for text in ("ab", "x"):
        with pytest.raises(BadName, match="begin"):
            chosen(letters, [text], False)


def test_all_or_some_of_them_must_be_named() -> None:
    for ids, is_all in (([], False), (["abc"], True)):
        with pytest.raises(click.UsageError):
            chosen([letter("abc:1")], ids, is_all)


def test_a_replay_says_the_same_and_where_it_comes_from() -> None:
    how = {"content": b"hi", "domain": "RUGBY", "persistent": True}
    headers = Headers([("colour", "red"), ("replayed-from", "abc:1")])
    assert letter("abc:1").again() == ("publish", {"key": "greeting", "headers": headers, **how})
    assert letter("abc:1", "queue/sub/audit").again() == letter("abc:1").again(), "nobody puts into that"
    assert letter("abc:1", JOE).again() == ("send", {"destination": JOE, "headers": headers, **how})
    del how["domain"]
    put = {"queue": "a/jobs", "key": "greeting", "headers": headers, "priority": 5, "group": "", **how}
    assert letter("abc:1", "queue/a/jobs").again() == ("put", put)


def test_a_text_is_replayed_as_one() -> None:
    text = replace(letter("abc:1"), is_text=True)
    assert text.again()[1]["content"] == "hi"
    assert replace(text, content=b"\xff").again()[1]["content"] == b"\xff", "it only says that it is text"


@pytest.fixture(scope="module")
def a(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    file: Path = tmp_path_factory.mktemp("dlq") / "mesh.toml"
    file.write_text("[limits]\ntailback_ttl = 0.2\n")
    with running("a", options=("--config", str(file))) as a:
        yield a


@pytest.mark.slow
def test_what_nobody_could_do_is_put_again(a: RunningNode) -> None:
    with sync.connect("a", environ=a.environ) as m:
        q = m.queue("jobs")
        q.declare(max_attempts=1)
        for text in ("one", "two"):
            q.put(text, key="k")
            job = q.get()
            assert job is not None
            job.nack()
        until(lambda: len(dead(a)) == 2)
        assert a.mesh("dlq", "replay", "--queue", "jobs", "--all", "--url", "a").returncode == 0
        assert [(each.text, each.key, each.attempt) for each in q.peek()] == [
            ("one", "k", 1),
            ("two", "k", 1),
        ]
        until(lambda: not dead(a))
        q.delete(if_unused=False)


def dead(a: RunningNode) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(a.mesh("dlq", "ls", "--json", "--url", "a").stdout)
    return found


@pytest.mark.slow
def test_what_nobody_got_is_listed_sent_again_and_taken_away(a: RunningNode) -> None:
    assert a.mesh("dlq", "ls", "--url", "a").returncode == 1
    for text in ("one", "two", "three"):
        sent = a.mesh("send", JOE, text, "--force-queuing", "--persistent", "--header", "n=1", "--url", "a")
        assert sent.returncode == 0
    until(lambda: len(dead(a)) == 3)
    by_content = {each["content"]: each for each in dead(a)}  # they may have been dead-lettered together
    first, second, third = (by_content[text] for text in ("one", "two", "three"))
    assert (first["to"], first["code"]) == (JOE, "EXPIRED")
    shown = a.mesh("dlq", "ls", "--url", "a").stdout
    assert all(each["id"] in shown for each in (first, second, third))

    refused = a.mesh("dlq", "replay", first["id"], "--url", "a")
    assert (refused.returncode, len(dead(a))) == (1, 3), "nobody is connected"
    assert "NOT_CONNECTED" in refused.stderr

    with sync.connect("a", client="joe", session=1, environ=a.environ) as joe, joe.inbox() as inbox:
        again = a.mesh("dlq", "replay", first["id"], third["id"], "--url", "a")
        assert (again.returncode, "replayed 2 messages" in again.stderr) == (0, True)
        came = [next(inbox) for _ in range(2)]
    assert [m.content for m in came] == [b"one", b"three"]
    assert [m.headers["replayed-from"] for m in came] == [first["id"], third["id"]]
    assert [each["id"] for each in dead(a)] == [second["id"]]

    purged = a.mesh("dlq", "purge", "--all", "--url", "a")
    assert (purged.stderr, dead(a)) == ("purged 1 dead letter\n", [])


def dead_message(number: int, to_others: bool, to: str = "") -> Message:
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
    letters = [dead_message(1, True), dead_message(2, False), dead_message(3, True)]
    fake = given(get=letters, erase=["k"])
    said = "2 letters for single receivers; only these, their senders and nodes can read them: 2 EXPIRED"
    assert main(["dlq", "ls"]) == 0
    out, err = capsys.readouterr()
    assert "greeting" in out and out.count("EXPIRED") == 1 and err == f"{said}\n"
    assert main(["dlq", "purge", "--all"]) == 0
    assert capsys.readouterr().err == f"{said}\npurged 1 dead letter\n"
    assert [asked[1] for asked in fake.asked if asked[0] == "erase"] == [("__sys__deadMessage/2",)]


def test_letters_of_a_queue_are_chosen_by_its_name(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    letters = [
        dead_message(1, True),
        dead_message(2, False),
        dead_message(3, False, "queue/jobs"),
        dead_message(4, False, "queue/jobs/new"),
    ]
    fake = given(get=letters, erase=["k"])
    assert main(["dlq", "ls", "--queue", "jobs"]) == 0
    out, err = capsys.readouterr()
    assert out.count("queue/jobs") == out.count(":3") == 1 and "greeting" not in out and err == ""
    assert main(["dlq", "ls"]) == 0
    assert capsys.readouterr().out.count("queue/jobs") == 2
    assert main(["dlq", "ls", "--queue", "mails"]) == 1
    assert capsys.readouterr().err == "no dead letters of the queue 'mails'\n"
    assert main(["dlq", "purge", "--queue", "jobs", "--all"]) == 0
    assert capsys.readouterr().err == "purged 1 dead letter\n"
    assert [asked[1] for asked in fake.asked if asked[0] == "erase"] == [("__sys__deadMessage/3",)]
    for verb in ("replay", "purge"):
        assert main(["dlq", verb, "--queue", "mails", "--all"]) == 0
        assert "no dead letters of the queue 'mails'\n" in capsys.readouterr().err
        assert main(["dlq", verb, "--queue", "jobs"]) == 2, "neither ids nor --all"
        assert main(["dlq", verb, "--queue", "jobs", "0" * 32 + ":4"]) == 2, "it was in another one"
    assert main(["dlq", "ls", "--queue", "node/x"]) == 2 and "[BAD_NAME]" in capsys.readouterr().err


@pytest.mark.parametrize("code", ["NO_RIGHT", "STORE_FULL"])
def test_trial_C_a_dead_letter_has_its_code_once(code: str) -> None:
    own = encode_properties(
        Properties(headers=Headers([("dead-code", code), ("dead-reason", f"it was not taken. [{code}]")]))
    )
    it = Envelope(
        stream=bytes(16),
        domain="",
        first=1,
        last=1,
        keys=("k",),
        count=1,
        sizes=len(own).to_bytes(4, "little"),
        body=own,
        props=len(own),
        sender="",
    )
    letter = DeadLetter.of(Batch(it)[0])
    assert (letter.code, letter.reason) == (code, "it was not taken.")
