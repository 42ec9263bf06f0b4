"""How messages are gathered into envelopes, without a node."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.client.core.accumulator import LINGER
from mesh.client.core.publisher import Publisher
from mesh.errors import BadKey, Closed, MessageTooLarge, PublishRefused, WouldBlock
from mesh.streams.outbox import Outbox
from mesh.wire.commands import Answer
from mesh.wire.envelope import FORCE_QUEUING, Envelope
from mesh.wire.limits import ENVELOPE_BYTES, ENVELOPE_MESSAGES
from tests.mesh.client.core.benches import DeskBench, result

STREAM = b"s" * 16
JOE = "/node/heron/client/joe/session/1"


class Bench(DeskBench):
    """A publisher with the envelopes that it has sent."""

    def __init__(self) -> None:
        super().__init__()
        self.context.now = 100.0
        self.envelopes: list[Envelope] = []
        self.later: list[tuple[str, PublishRefused]] = []
        self.publisher = Publisher(
            self.context,
            STREAM,
            Outbox(4 << 20, 1024),
            lambda envelope, until: self.envelopes.append(envelope),
            lambda name, error: self.later.append((name, error)),
        )

    @property
    def counts(self) -> list[int]:
        """The number of messages in each sent envelope."""
        return [envelope.count for envelope in self.envelopes]

    def post(self, content: bytes = b"x", key: str = "k", domain: str = "", to: str = "") -> int:
        return self.publisher.append_message(key, content, domain, 0, b"", 0, to)

    def answer(self, first: int, last: int, state: str = "OK") -> None:
        self.publisher.on_answer(Answer("", first, last, state))


def test_messages_of_a_kind_that_are_posted_together_share_an_envelope() -> None:
    bench = Bench()
    for key in ("a", "b", "a"):
        bench.post(key=key)
    bench.wait()
    [envelope] = bench.envelopes
    assert (envelope.keys, envelope.count, envelope.to) == (("a", "b"), 3, "")


def test_while_others_are_under_way_messages_wait_for_company_but_not_for_long() -> None:
    bench = Bench()
    bench.post()
    bench.wait()
    assert bench.counts == [1], "a lone message leaves at once"
    bench.post()
    bench.post()
    bench.wait(0.9 * LINGER)
    assert bench.counts == [1]
    bench.wait(0.2 * LINGER)
    assert bench.counts == [1, 2], "nobody has answered, and yet they left"


def test_what_waits_for_company_leaves_when_nothing_is_under_way_any_more() -> None:
    bench = Bench()
    for _ in range(3):
        bench.post()
        bench.wait()
    assert bench.counts == [1]
    bench.answer(1, 1)
    assert bench.counts == [1, 2]


def test_a_lone_message_leaves_at_once_although_another_has_just_waited() -> None:
    bench = Bench()
    for _ in range(2):
        bench.post()
        bench.wait()
    bench.answer(1, 1)
    bench.answer(2, 2)
    bench.post()
    bench.wait()
    assert bench.counts == [1, 1, 1]


def test_an_envelope_that_is_full_waits_for_nobody() -> None:
    bench = Bench()
    bench.post()
    bench.wait()
    for _ in range(ENVELOPE_MESSAGES):
        bench.post()
    assert bench.counts == [1, ENVELOPE_MESSAGES]


def test_each_receiver_has_envelopes_of_its_own_with_numbers_of_one_row() -> None:
    bench = Bench()
    for to in (JOE, JOE, "", "client/ann"):
        bench.post(key="" if to else "k", to=to)
    bench.wait(LINGER)
    assert [(e.to, e.keys, e.first, e.last) for e in bench.envelopes] == [
        (JOE, ("",), 1, 2),
        ("", ("k",), 3, 3),
        ("client/ann", ("",), 4, 4),
    ]


def test_what_must_wait_and_what_need_not_are_not_mixed() -> None:
    bench = Bench()
    for flags in (0, FORCE_QUEUING, FORCE_QUEUING):
        bench.publisher.append_message("", b"", "", flags, b"", 0, JOE)
    bench.wait(LINGER)
    assert [(e.flags, e.count) for e in bench.envelopes] == [(0, 1), (FORCE_QUEUING, 2)]


def test_only_what_is_sent_to_somebody_may_lack_a_key() -> None:
    bench = Bench()
    with pytest.raises(BadKey):
        bench.post(key="")
    with pytest.raises(BadKey, match="subscribe to a pattern"):
        bench.post(key="a/#", to=JOE)
    bench.post(key="", to=JOE)
    with pytest.raises(BadKey):
        bench.post(key="")


def test_too_large_a_message_names_its_receiver() -> None:
    bench = Bench()
    bench.publisher.accumulator.max_content = 3
    with pytest.raises(MessageTooLarge, match=f"{JOE} has 4 bytes"):
        bench.post(b"1234", to=JOE)


SMALL = st.tuples(st.sampled_from([0, 1, 100]), st.integers(1, ENVELOPE_MESSAGES + 10))
LARGE = st.tuples(st.sampled_from([30_000, ENVELOPE_BYTES // 2, ENVELOPE_BYTES + 1]), st.integers(1, 3))


@given(
    before=st.lists(st.sampled_from(["k", "other"]), max_size=3),
    sizes=st.lists(SMALL | LARGE, min_size=1, max_size=4),
    props=st.sampled_from([b"", b"pp"]),
    expires=st.sampled_from([0, 7]),
)
def test_many_at_once_become_the_same_envelopes_as_one_by_one(
    before: list[str], sizes: list[tuple[int, int]], props: bytes, expires: int
) -> None:
    contents = [bytes([65 + n]) * size for n, (size, times) in enumerate(sizes) for _ in range(times)]

    def sent(at_once: bool) -> list[Envelope]:
        bench = Bench()
        bench.publisher.outbox.window = (1 << 40, 1 << 20)
        for key in before:
            bench.post(key=key)
        waiting = list(contents)
        while waiting:
            if at_once:
                del waiting[: bench.publisher.post_many("k", waiting, "", 0, props, expires)]
            else:
                bench.publisher.append_message("k", waiting.pop(0), "", 0, props, expires)
        bench.publisher.accumulator.seal()
        return bench.envelopes

    assert sent(True) == sent(False)


def test_many_at_once_stop_where_the_window_is_full() -> None:
    bench = Bench()
    bench.publisher.outbox.window = (1 << 20, 2)
    contents = [b"x"] * 5 * ENVELOPE_MESSAGES
    for _ in range(2):
        assert bench.publisher.post_many("k", contents, "", 0, b"", 0) == ENVELOPE_MESSAGES
    with pytest.raises(WouldBlock):
        bench.publisher.post_many("k", contents, "", 0, b"", 0)
    with pytest.raises(MessageTooLarge):
        bench.publisher.post_many(
            "k", [b"x", bytes(bench.publisher.accumulator.max_content + 1)], "", 0, b"", 0
        )
    with pytest.raises(BadKey):
        bench.publisher.post_many("k/+", [b"x"], "", 0, b"", 0)


# --- waits for any answer -------------------------------------------------------------------------------


def test_each_answer_is_a_change_and_whoever_gave_up_waiting_for_it_is_passed_by() -> None:
    bench = Bench()
    bench.post()
    waiting, gave_up = bench.publisher.change(), bench.publisher.change()
    gave_up.set_result("he goes home")
    bench.wait()
    assert not waiting.done() and not bench.publisher.is_quiet
    bench.answer(1, 1, "FORWARD_WARNING")
    assert result(waiting) is None and bench.publisher.is_quiet


def test_closing_tells_who_waits_for_a_change_and_drops_what_has_not_left() -> None:
    bench = Bench()
    bench.post()
    waiting = bench.publisher.change()
    bench.publisher.fail_all(Closed("closed."))
    with pytest.raises(Closed):
        result(waiting)
    bench.wait(1.0)
    assert bench.counts == []


def test_what_cannot_wake_its_shell_begins_no_envelope() -> None:
    bench = Bench()

    def away() -> None:
        raise Closed("elsewhere.")

    bench.context._wake = away
    with pytest.raises(Closed):
        bench.post()
    assert bench.publisher.accumulator.builder is None and bench.publisher.is_quiet


# --- messages for queues ----------------------------------------------------------------------------------

JOBS = "queue/jobs"


def put_many(bench: Bench, count: int, how: tuple[int, int, str] | tuple[()] = ()) -> list[tuple[int, int]]:
    """Put `count` messages, and return (first number, count) of each part."""
    contents, parts = [b"x"] * count, []
    while contents:
        first, n = bench.publisher.put_many(JOBS, how, "", contents, 1, b"", 0)
        parts.append((first, n))
        del contents[:n]
    return parts


def test_what_is_put_goes_in_envelopes_that_a_consumer_is_soon_through_with() -> None:
    bench = Bench()
    assert put_many(bench, 1200) == [(1, 500), (501, 500), (1001, 200)]
    assert [bench.publisher.append_put(JOBS, (9, 0, "g"), "", b"x", 1, b"", 0) for _ in range(501)][
        -1
    ] == 1701
    bench.publisher.accumulator.seal()
    assert bench.counts == [500, 500, 200, 500, 1]
    assert [e.put for e in bench.envelopes] == [(), (), (), (9, 0, "g"), (9, 0, "g")]
    assert {(e.to, e.domain, e.flags) for e in bench.envelopes} == {(JOBS, JOBS, 1)}
    with pytest.raises(PublishRefused, match="RESERVED"):
        bench.publisher.append_message("k", b"x", JOBS, 0, b"", 0)


def test_of_what_was_put_it_is_known_how_many_were_taken_and_why_the_first_was_not() -> None:
    bench = Bench()
    put_many(bench, 30)
    bench.publisher.accumulator.seal()
    verdicts, mine = bench.publisher.verdicts, [(1, 10), (16, 30)]
    assert (verdicts.count_accepted(JOBS, mine), verdicts.has_refused(JOBS, mine)) == (0, False)
    bench.publisher.on_answer(Answer(JOBS, 1, 7))
    bench.publisher.on_answer(Answer(JOBS, 8, 12, "QUEUE_FULL", text="it is full. [QUEUE_FULL]"))
    assert (verdicts.count_accepted(JOBS, mine), verdicts.has_refused(JOBS, mine)) == (7, True)
    bench.publisher.on_answer(Answer(JOBS, 13, 30))
    assert verdicts.count_accepted(JOBS, mine) == 22 and verdicts.count_accepted(JOBS, []) == 0
    error = verdicts.first_refusal(JOBS, mine)
    assert (
        error is not None and error.code == "QUEUE_FULL" and verdicts.first_refusal(JOBS, [(13, 30)]) is None
    )
    with pytest.raises(PublishRefused):  # of 11 and 12, which belong to another caller
        verdicts.raise_first()
    verdicts.raise_first()
    again = verdicts.first_refusal(JOBS, mine)
    assert again is not None and again.code == "QUEUE_FULL"
