"""A node that hangs up over one envelope: only that one fails, and the others keep their order."""

import asyncio

import pytest

from mesh.client.content import Prepared
from mesh.client.core.cautious_resend import CautiousResend
from mesh.errors import PublishRefused
from mesh.kernel.context import message_fragments
from mesh.wire.envelope import Envelope
from mesh.wire.limits import MIB, PIECE
from tests.mesh.meshes import LIMIT, Mesh, eventually, mesh_of, take


def envelope(number: int) -> Envelope:
    return Envelope(b"s" * 16, "", number, number, ("k",), 1, 1, b"x")


class Line:
    """Envelopes that wait, and those that were answered."""

    def __init__(self, count: int) -> None:
        self.waiting = [envelope(number) for number in range(1, count + 1)]
        self.answered: set[int] = set()
        self.caution = CautiousResend[Envelope](lambda e: e.first in self.answered)

    def again(self) -> list[int]:
        left = [e for e in self.waiting if e.first not in self.answered]
        return [e.first for e in self.caution.begin_resend(left)]

    def answer(self, number: int) -> list[int]:
        self.answered.add(number)
        return [e.first for e in self.caution.next_after_answer()]


def test_until_a_node_objects_all_leave_at_once() -> None:
    line = Line(3)
    assert line.again() == [1, 2, 3] and not line.caution.is_on
    assert line.caution.add(envelope(4))


def test_trial_B1_the_one_that_is_refused_twice_alone_has_failed_and_the_rest_goes_on() -> None:
    line = Line(4)
    assert line.again() == [1, 2, 3, 4]
    assert line.caution.on_hang_up() is None
    assert line.again() == [1]
    assert line.answer(1) == [2]
    assert line.caution.on_hang_up() is None  # one hang-up may be chance
    assert line.again() == [2]
    found = line.caution.on_hang_up()
    assert found is not None and found.first == 2
    line.answered.add(2)
    assert line.again() == [3]
    assert not line.caution.add(envelope(5))
    assert [line.answer(number) for number in (3, 4, 5)] == [[4], [5], []]
    assert not line.caution.is_on and line.caution.add(envelope(6))


def test_a_refusal_of_one_is_not_held_against_the_next() -> None:
    line = Line(3)
    line.again()
    line.caution.on_hang_up()
    line.again()
    assert line.caution.on_hang_up() is None
    line.answered.add(1)
    assert line.again() == [2]
    assert line.caution.on_hang_up() is None
    assert line.again() == [2]
    found = line.caution.on_hang_up()
    assert found is not None and found.first == 2


def test_what_waits_for_its_last_word_is_sent_again_in_its_place() -> None:
    line = Line(4)
    line.caution.on_hang_up()
    line.answered |= {1, 3}
    assert [e.first for e in line.caution.begin_resend(line.waiting)] == [1, 2]
    assert line.answer(2) == [3, 4]


def test_without_anything_that_waits_the_caution_is_over() -> None:
    line = Line(0)
    line.caution.on_hang_up()
    assert line.again() == [] and not line.caution.is_on


POISON: Prepared = ("poison", b"x", "", 0, b"", -5, "")  # key, content, domain, flags, properties, expires


def test_trial_B1_an_envelope_that_no_node_reads_fails_by_name_and_the_rest_arrives_once() -> None:
    async def scenario() -> None:
        async with mesh_of("a") as m, m.connect("a") as ma, m.connect("a") as reader:
            async with reader.subscribe(pattern="#") as sub:
                before = [ma.post(f"before/{i}", b"x", domain=str(i % 2)) for i in range(6)]
                bad = ma._post_prepared(POISON)
                after = [ma.post(f"after/{i}", b"x", domain=str(i % 2)) for i in range(6)]
                async with asyncio.timeout(LIMIT):
                    with pytest.raises(
                        PublishRefused, match="closed the connection twice because of this message"
                    ) as caught:
                        await bad
                    assert caught.value.code == "MALFORMED"
                    late = ma.post("late", b"x")
                    for receipt in (*before, *after, late):
                        await receipt
                    await ma.flush()
                keys = [message.key for message in await take(sub, 13)]
                even = [key for key in keys if key[-1] in "024" or key == "late"]
                assert even == [*(f"{w}/{i}" for w in ("before", "after") for i in (0, 2, 4)), "late"]
                assert len(set(keys)) == 13
            assert hang_ups(m) >= 3
            assert ma._core.line._dials <= 1 + 3

    asyncio.run(scenario())


def test_trial_B2_what_finds_no_room_is_no_fault_of_the_envelope(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with mesh_of("a", settings={"limits.max_content": 4 * MIB}) as m, m.connect("a") as ma:
            with monkeypatch.context() as narrow:
                narrow.setattr(message_fragments, "TOGETHER", PIECE)
                receipt = asyncio.ensure_future(ma.publish("large", bytes(3 * MIB)))
                await eventually(lambda: hang_ups(m) > 3)
            async with asyncio.timeout(LIMIT):
                assert (await receipt).ok

    asyncio.run(scenario())


@pytest.mark.slow
def test_trial_B1_a_client_that_is_always_refused_backs_off() -> None:
    """Each envelope costs three connections at most, and the time between them grows."""

    async def scenario() -> None:
        async with mesh_of("a") as m, m.connect("a") as ma:
            receipts = [ma._post_prepared(("poison", b"x", str(i), 0, b"", -5, "")) for i in range(3)]
            async with asyncio.timeout(LIMIT):
                for receipt in receipts:
                    with pytest.raises(PublishRefused):
                        await receipt
                assert (await ma.publish("k", b"x")).ok
            # `hang_ups` does not fit: what is under way at the end of a connection counts as another's.
            assert ma._core.line._dials <= 1 + 1 + 2 * 3
            assert ma._core.line._strikes > 3

    asyncio.run(scenario())


def hang_ups(m: Mesh) -> int:
    return m.metric("a", "malformed")
