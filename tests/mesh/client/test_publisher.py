"""How are messages put into envelopes, and who hears what became of each? Without a node."""

import asyncio
import contextlib
import functools
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mesh.client.publisher import Publisher, Receipt

from mesh.errors import (
    BadKey,
    BadQuery,
    CircularLoop,
    Closed,
    Expired,
    MasterAway,
    MessageTooLarge,
    NotConnected,
    PublishRefused,
    StaleSequence,
    TailBackFull,
    UnknownNode,
    WouldBlock,
)
from mesh.values import Published, message_id
from mesh.wire.commands import Answer
from mesh.wire.envelope import FORCE_QUEUING, Envelope
from mesh.wire.limits import ENVELOPE_BYTES, ENVELOPE_MESSAGES

STREAM = b"s" * 16
JOE = "/node/heron/client/joe/session/1"
WAITS = "waits at bilbo for frodo (polling)"


class Bench:
    """A publisher, what it has sent, and what it was told of later."""

    def __init__(self) -> None:
        self.sent: list[Envelope] = []
        self.later: list[tuple[str, PublishRefused]] = []
        self.publisher = Publisher(
            STREAM, self._send, lambda: None, lambda name, error: self.later.append((name, error))
        )

    def _send(self, envelope: Envelope) -> bool:
        self.sent.append(envelope)
        return True

    def post(self, content: bytes = b"x", key: str = "k", domain: str = "", to: str = "") -> Receipt:
        number = self.publisher.post(key, content, domain, 0, b"", 0, to)
        return Receipt(self.publisher, domain, number)

    def answer(self, first: int, last: int, state: str = "OK", text: str = "", matched: int = 0) -> None:
        self.publisher.answered(Answer("", first, last, state, matched, text))

    def warn(self, first: int, last: int) -> None:
        self.answer(first, last, "FORWARD_WARNING", WAITS)


def story(test: Callable[[Bench], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """In a loop of its own, with a bench of its own."""

    @functools.wraps(test)
    def run() -> None:
        asyncio.run(test(Bench()))

    del run.__wrapped__  # pytest would take the bench for a fixture
    return run


async def until(condition: Callable[[], bool]) -> None:
    """The test's own limit ends it otherwise."""
    while not condition():
        await asyncio.sleep(0)


async def refusal(waiting: Coroutine[Any, Any, Published]) -> PublishRefused:
    with pytest.raises(PublishRefused) as caught:
        await waiting
    return caught.value


# --- envelopes ----------------------------------------------------------------------------------------


@story
async def test_messages_of_a_kind_that_are_posted_together_share_an_envelope(bench: Bench) -> None:
    for key in ("a", "b", "a"):
        bench.post(key=key)
    await asyncio.sleep(0)
    [envelope] = bench.sent
    assert (envelope.keys, envelope.count, envelope.to) == (("a", "b"), 3, "")


@story
async def test_while_others_are_under_way_messages_wait_for_company_but_not_for_long(bench: Bench) -> None:
    bench.post()
    await asyncio.sleep(0)
    assert [e.count for e in bench.sent] == [1], "a lone message leaves at once"
    bench.post()
    bench.post()
    assert [e.count for e in bench.sent] == [1]
    await until(lambda: len(bench.sent) == 2)
    assert [e.count for e in bench.sent] == [1, 2], "nobody has answered, and yet they left"


@story
async def test_what_waits_for_company_leaves_when_nothing_is_under_way_any_more(bench: Bench) -> None:
    for _ in range(3):
        bench.post()
        await asyncio.sleep(0)
    assert [e.count for e in bench.sent] == [1]
    bench.answer(1, 1)
    assert [e.count for e in bench.sent] == [1, 2]


@story
async def test_a_lone_message_leaves_at_once_although_another_has_just_waited(bench: Bench) -> None:
    for _ in range(2):
        bench.post()
        await asyncio.sleep(0)
    bench.answer(1, 1)
    bench.answer(2, 2)
    bench.post()
    await asyncio.sleep(0)
    assert [e.count for e in bench.sent] == [1, 1, 1]


@story
async def test_an_envelope_that_is_full_waits_for_nobody(bench: Bench) -> None:
    bench.post()
    await asyncio.sleep(0)
    for _ in range(ENVELOPE_MESSAGES):
        bench.post()
    assert [e.count for e in bench.sent] == [1, ENVELOPE_MESSAGES]


@story
async def test_each_receiver_has_envelopes_of_its_own_with_numbers_of_one_row(bench: Bench) -> None:
    for to in (JOE, JOE, "", "client/ann"):
        bench.post(key="" if to else "k", to=to)
    await until(lambda: len(bench.sent) == 3)
    assert [(e.to, e.keys, e.first, e.last) for e in bench.sent] == [
        (JOE, ("",), 1, 2),
        ("", ("k",), 3, 3),
        ("client/ann", ("",), 4, 4),
    ]


@story
async def test_what_must_wait_and_what_need_not_are_not_mixed(bench: Bench) -> None:
    for flags in (0, FORCE_QUEUING, FORCE_QUEUING):
        bench.publisher.post("", b"", "", flags, b"", 0, JOE)
    await until(lambda: len(bench.sent) == 2)
    assert [(e.flags, e.count) for e in bench.sent] == [(0, 1), (FORCE_QUEUING, 2)]


@story
async def test_only_what_is_sent_to_somebody_may_lack_a_key(bench: Bench) -> None:
    with pytest.raises(BadKey):
        bench.post(key="")
    with pytest.raises(BadKey, match="pattern="):
        bench.post(key="a/#", to=JOE)
    bench.post(key="", to=JOE)
    with pytest.raises(BadKey):
        bench.post(key="")


@story
async def test_too_large_a_message_names_its_receiver(bench: Bench) -> None:
    bench.publisher.max_content = 3
    with pytest.raises(MessageTooLarge, match=f"{JOE}: content of 4 bytes"):
        bench.post(b"1234", to=JOE)


# --- answers ------------------------------------------------------------------------------------------


@story
async def test_a_receipt_resolves_at_the_first_answer_and_says_what_it_waits_for(bench: Bench) -> None:
    receipt = bench.post()
    waiting = asyncio.ensure_future(bench.publisher.result(receipt))
    await asyncio.sleep(0)
    bench.warn(1, 1)
    published = await waiting
    assert (published.state, published.ok, published.note) == ("FORWARD_WARNING", False, WAITS)
    assert bench.publisher.waiting() == (1, WAITS)


@story
async def test_the_last_word_comes_after_the_warning(bench: Bench) -> None:
    receipt = bench.post()
    await asyncio.sleep(0)
    bench.warn(1, 1)
    last = [asyncio.ensure_future(bench.publisher.final(m)) for m in (receipt, await receipt)]
    await asyncio.sleep(0)
    assert not any(waiting.done() for waiting in last)
    bench.answer(1, 1, matched=2)
    assert [(p.state, p.matched, p.id) for p in await asyncio.gather(*last)] == [("OK", 2, receipt.id)] * 2
    assert bench.publisher.waiting()[0] == 0
    assert (await bench.publisher.final(receipt)).ok
    assert (await receipt).ok, "what is asked late hears the newest answer"


@story
async def test_what_is_ok_at_once_is_final_at_once(bench: Bench) -> None:
    receipt = bench.post()
    await asyncio.sleep(0)
    bench.answer(1, 1, matched=7)
    published = await receipt
    assert await bench.publisher.final(published) is published
    assert (await bench.publisher.final(receipt)).matched == 7


@story
async def test_flush_waits_for_first_answers_only(bench: Bench) -> None:
    bench.post()
    flushing = asyncio.ensure_future(bench.publisher.flush())
    await asyncio.sleep(0)
    assert not flushing.done()
    bench.warn(1, 1)
    await flushing


@story
async def test_a_refusal_that_nobody_awaited_is_raised_by_flush_once(bench: Bench) -> None:
    for _ in range(3):
        bench.post()
    await asyncio.sleep(0)
    bench.answer(1, 2, "TAILBACK_FULL", "no room.")
    bench.answer(3, 3)
    with pytest.raises(TailBackFull, match="no room"):
        await bench.publisher.flush()
    await bench.publisher.flush()
    assert bench.later == []


@story
async def test_a_refusal_after_a_warning_is_told_as_an_event_and_does_not_fail_flush(bench: Bench) -> None:
    first, second = bench.post(), bench.post()
    await asyncio.sleep(0)
    bench.warn(1, 2)
    bench.answer(1, 2, "EXPIRED", "it waited too long. [EXPIRED]")
    await bench.publisher.flush()
    assert [name for name, _ in bench.later] == [first.id, second.id]
    assert str(bench.later[0][1]) == "it waited too long. [EXPIRED]"
    assert isinstance(await refusal(bench.publisher.final(first)), Expired), "who asks late hears it too"
    assert bench.publisher.waiting()[0] == 0


@story
async def test_a_refusal_after_a_warning_that_is_awaited_is_raised_and_no_event(bench: Bench) -> None:
    receipt = bench.post()
    await asyncio.sleep(0)
    bench.warn(1, 1)
    last = asyncio.ensure_future(refusal(bench.publisher.final(receipt)))
    await asyncio.sleep(0)
    bench.answer(1, 1, "CIRCULAR_LOOP", "x -> y -> x")
    assert isinstance(await last, CircularLoop)
    assert bench.later == []


@story
async def test_one_refusal_can_be_the_first_answer_to_some_and_the_second_to_others(bench: Bench) -> None:
    receipts = [bench.post() for _ in range(4)]
    await asyncio.sleep(0)
    bench.warn(2, 3)
    bench.answer(1, 4, "MASTER_AWAY", "away.")
    assert [name for name, _ in bench.later] == [receipts[1].id, receipts[2].id]
    with pytest.raises(MasterAway):
        await bench.publisher.flush()


@story
async def test_who_gives_up_waiting_does_not_swallow_the_refusal(bench: Bench) -> None:
    receipt = bench.post()
    await asyncio.sleep(0)
    bench.warn(1, 1)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(bench.publisher.final(receipt), timeout=0)
    bench.answer(1, 1, "EXPIRED")
    assert [name for name, _ in bench.later] == [receipt.id]


@story
async def test_an_answer_that_is_said_again_changes_nothing(bench: Bench) -> None:
    receipt = bench.post()
    await asyncio.sleep(0)
    bench.warn(1, 1)
    bench.answer(1, 1)
    for state in ("FORWARD_WARNING", "OK", "EXPIRED"):
        bench.answer(1, 1, state)
    assert (await bench.publisher.final(receipt)).ok
    assert bench.later == []


@story
async def test_refusals_are_still_known_when_many_answers_have_followed(bench: Bench) -> None:
    refused, waiting, fine = bench.post(), bench.post(), bench.post()
    await asyncio.sleep(0)
    bench.answer(1, 1, "EXPIRED", "too late.")
    bench.warn(2, 2)
    bench.answer(3, 3)
    for _ in range(3000):
        number = bench.post().number
        await asyncio.sleep(0)
        bench.answer(number, number)
    with pytest.raises(PublishRefused, match="too late"):
        await bench.publisher.flush()
    assert isinstance(await refusal(bench.publisher.result(refused)), Expired)
    assert (await waiting).state == "FORWARD_WARNING"
    assert (await fine).ok


@story
async def test_no_refusal_is_ever_taken_for_ok_however_many_there_were(bench: Bench) -> None:
    receipts = []
    for _ in range(3000):
        receipts.append(bench.post())
        await asyncio.sleep(0)
        bench.answer(receipts[-1].number, receipts[-1].number, "EXPIRED", "too late.")
    with pytest.raises(Expired):
        await bench.publisher.flush()
    assert "forgotten" in (await refusal(bench.publisher.final(receipts[0]))).what
    assert isinstance(await refusal(bench.publisher.final(receipts[-1])), Expired)


@pytest.mark.parametrize("number", [2, 100])
def test_what_this_session_did_not_publish_has_no_last_word_here(number: int) -> None:
    async def told() -> None:
        bench, other = Bench(), Bench()
        bench.post()
        await asyncio.sleep(0)
        bench.answer(1, 1)
        strangers: list[Published | Receipt] = [
            Published("FORWARD_WARNING", message_id(STREAM, "", number), 0),
            Published("FORWARD_WARNING", message_id(STREAM, "elsewhere", 1), 0),
            Published("OK", message_id(b"t" * 16, "", 1), 0),
            Published("OK", "no id at all", 0),
            other.post(),
        ]
        for stranger in strangers:
            with pytest.raises(BadQuery, match="not published by this session"):
                await bench.publisher.final(stranger)

    asyncio.run(told())


@story
async def test_what_was_posted_until_now_can_be_waited_for_while_more_is_posted(bench: Bench) -> None:
    bench.post(b"1")
    bench.post(b"2", domain="D")
    waiting = asyncio.ensure_future(bench.publisher.answered_so_far())
    await asyncio.sleep(0)
    bench.post(b"3")
    bench.answer(1, 1, "EXPIRED")
    await asyncio.sleep(0)
    assert not waiting.done()
    bench.publisher.answered(Answer("D", 1, 1, "FORWARD_WARNING"))
    await waiting


@story
async def test_closing_tells_all_who_wait_and_all_who_ask_later(bench: Bench) -> None:
    receipt = bench.post()
    waiting = [
        asyncio.ensure_future(w)
        for w in (
            bench.publisher.result(receipt),
            bench.publisher.final(receipt),
            bench.publisher.answered_so_far(),
        )
    ]
    await asyncio.sleep(0)
    bench.publisher.fail(Closed("closed."))
    for each in (*waiting, bench.publisher.result(receipt)):
        with pytest.raises(Closed):
            await each


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("CIRCULAR_LOOP", CircularLoop),
        ("UNKNOWN_NODE", UnknownNode),
        ("NOT_CONNECTED", NotConnected),
        ("MASTER_AWAY", MasterAway),
        ("TAILBACK_FULL", TailBackFull),
        ("EXPIRED", Expired),
        ("STALE_SEQUENCE", StaleSequence),
        ("TOO_MANY_HOPS", PublishRefused),
    ],
)
def test_each_code_of_a_refusal_has_its_class(code: str, kind: type[PublishRefused]) -> None:
    async def told() -> None:
        bench = Bench()
        receipt = bench.post()
        await asyncio.sleep(0)
        bench.answer(1, 1, code, f"that is why. [{code}]")
        error = await refusal(bench.publisher.result(receipt))
        assert (type(error), error.code, error.what) == (kind, code, "that is why.")

    asyncio.run(told())


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

    async def sent(at_once: bool) -> list[Envelope]:
        bench = Bench()
        bench.publisher.outbox.window = (1 << 40, 1 << 20)
        for key in before:
            bench.post(key=key)
        waiting = list(contents)
        while waiting:
            if at_once:
                del waiting[: bench.publisher.post_many("k", waiting, "", 0, props, expires)]
            else:
                bench.publisher.post("k", waiting.pop(0), "", 0, props, expires)
        bench.publisher._seal()
        return bench.sent

    assert asyncio.run(sent(True)) == asyncio.run(sent(False))


@story
async def test_many_at_once_stop_where_the_window_is_full(bench: Bench) -> None:
    bench.publisher.outbox.window = (1 << 20, 2)
    contents = [b"x"] * 5 * ENVELOPE_MESSAGES
    for _ in range(2):
        assert bench.publisher.post_many("k", contents, "", 0, b"", 0) == ENVELOPE_MESSAGES
    with pytest.raises(WouldBlock):
        bench.publisher.post_many("k", contents, "", 0, b"", 0)
    with pytest.raises(MessageTooLarge):
        bench.publisher.post_many("k", [b"x", bytes(bench.publisher.max_content + 1)], "", 0, b"", 0)
    with pytest.raises(BadKey):
        bench.publisher.post_many("k/+", [b"x"], "", 0, b"", 0)
