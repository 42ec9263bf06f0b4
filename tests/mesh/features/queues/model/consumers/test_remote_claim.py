"""The claim of a consumer at another node, against a part that dies at any moment."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.errors import RemoteError
from mesh.features.queues.model.consumers.remote_claim import (
    RemoteClaim,
    RemoteSettlement,
    as_held,
    split_held,
    without_tags,
)
from mesh.wire.calls import AskHold, AskSettle
from mesh.wire.commands import EXTEND, NACK, Certificate

S, T = b"s" * 16, b"t" * 16
ME, OTHER = b"m" * 16, b"o" * 16
CERTIFICATE = Certificate("/node/heron/client/joe/session/1", b"k" * 32, 1, ME, b"x" * 64)


def numbers(held: object) -> list[tuple[bytes, int]]:
    return [
        (stream, number)
        for stream, ends in held  # type: ignore[attr-defined]
        for first, last in zip(ends[::2], ends[1::2], strict=True)
        for number in range(first, last + 1)
    ]


class Part:
    """The other node: the messages that the consumer has there, and those that were settled."""

    def __init__(self, messages: list[tuple[bytes, int]]) -> None:
        self.out, self.done = set(messages), set[tuple[bytes, int]]()
        self.tags: list[tuple[bytes, int]] = []
        self.epoch = 0

    def answer(self, ask: AskHold | AskSettle) -> tuple[int, list[int]]:
        """Return the epoch and the tags that are not the consumer's, as ranges."""
        if isinstance(ask, AskHold):
            self.epoch += 1
            self.tags = numbers(ask.held)
            void = [at for at, message in enumerate(self.tags, 1) if message not in self.out]
            return self.epoch, [end for at in void for end in (at, at)]
        over = []
        assert ask.epoch == self.epoch
        final = [tag for a, b in zip(ask.done[::2], ask.done[1::2], strict=True) for tag in range(a, b + 1)]
        final += [tag for a, b, what, *_ in ask.entries if what != EXTEND for tag in range(a, b + 1)]
        for tag in final:
            message = self.tags[tag - 1]
            if message in self.out:
                self.out.remove(message)
                self.done.add(message)
            else:
                over.append(tag)
        return self.epoch, [end for tag in sorted(set(over)) for end in (tag, tag)]


def make_claim(n: int, opened: list[list[int]] | None = None) -> tuple[RemoteClaim, Part]:
    messages = {tag: ((S, T)[tag % 3 == 0], 10 + tag) for tag in range(2, n + 2)}
    found = opened if opened is not None else []
    return RemoteClaim(5, "jobs", 0, messages, found.append), Part(list(messages.values()))


def exchange(claim: RemoteClaim, part: Part) -> bool:
    """Ask the next question, and return whether there was one."""
    ask = claim.next_question(CERTIFICATE)
    if ask is None:
        return False
    epoch, ends = part.answer(ask)
    if isinstance(ask, AskHold):
        claim.on_held(epoch, ends)
    else:
        claim.on_settled(ends)
    return True


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ack"), st.integers(2, 7)),
        st.tuples(st.just("extend"), st.integers(2, 7)),
        st.sampled_from([("ask", 0), ("lost unheard", 0), ("lost answer", 0), ("requeue", 3), ("refuse", 0)]),
    ),
    max_size=30,
)


@given(STEPS)
def test_laws_each_settlement_is_answered_once_and_only_when_the_part_has_it(
    steps: list[tuple[str, int]],
) -> None:
    opened: list[list[int]] = []
    claim, part = make_claim(6, opened)
    messages, acked = dict(claim.left), set[int]()
    answers: dict[int, list[list[int]]] = {}

    def on_answer(at: int, tag: int, over: list[int]) -> None:
        answers[at].append(over)
        if steps[at][0] == "ack" and not over:
            assert messages[tag] in part.done, "law 2"

    for at, (step, tag) in enumerate(steps):
        if step in ("ack", "extend") and tag not in acked:
            acked |= {tag} if step == "ack" else set()
            entries = [(tag, tag, EXTEND, 1000, "")] if step == "extend" else []
            done = [(tag, tag)] if step == "ack" else []
            settlement = claim.select(
                done,
                entries,
                lambda over, at=at, tag=tag: on_answer(at, tag, over),  # type: ignore[misc]
            )
            assert settlement is not None
            answers[at] = []
            claim.settle(settlement)
        elif step == "ask":
            exchange(claim, part)
        elif step == "lost unheard":
            claim.next_question(CERTIFICATE)
            claim.on_lost()
        elif step == "lost answer" and (ask := claim.next_question(CERTIFICATE)) is not None:
            assert claim.next_question(CERTIFICATE) is None, "law 3"
            part.answer(ask)
            claim.on_lost()
        elif step == "requeue":
            part.out.discard(messages[tag])
        elif step == "refuse" and not claim.is_refused:
            claim.on_refused()
    while exchange(claim, part):
        pass
    assert len(opened) <= 1
    assert all(len(each) == 1 for each in answers.values())


def test_law_1_a_settlement_waits_for_the_claim_and_is_sent_again_after_the_next_one() -> None:
    claim, part = make_claim(3)
    answers: list[list[int]] = []
    settlement = claim.select([(1, 3)], [], answers.append)
    assert settlement is not None
    claim.settle(settlement)
    assert isinstance(claim.next_question(CERTIFICATE), AskHold)
    claim.on_held(1, [])
    ask = claim.next_question(CERTIFICATE)
    assert isinstance(ask, AskSettle) and ask.done == [1, 2]
    claim.on_lost()
    assert isinstance(claim.next_question(CERTIFICATE), AskHold)
    claim.on_lost()
    while exchange(claim, part):
        pass
    assert (answers, list(claim.left)) == ([[]], [4])


def test_settlements_of_the_same_message_are_sent_one_after_the_other() -> None:
    claim, part = make_claim(2)
    exchange(claim, part)
    answers: list[list[int]] = []
    claim.settle(RemoteSettlement([], [([2, 3], EXTEND, 1000, "")], answers.append))
    claim.settle(RemoteSettlement([2], [], answers.append))
    claim.settle(RemoteSettlement([], [([3], NACK, 0, "")], answers.append))
    ask = claim.next_question(CERTIFICATE)
    assert isinstance(ask, AskSettle) and (ask.done, ask.entries) == ([], [(1, 2, EXTEND, 1000, "")])
    claim.on_settled([])
    ask = claim.next_question(CERTIFICATE)
    assert isinstance(ask, AskSettle) and (ask.done, ask.entries) == ([1, 1], [(2, 2, NACK, 0, "")])
    claim.on_settled([])
    assert (answers, claim.left) == ([[], [], []], {})


@pytest.mark.parametrize("ends", [[1], [0, 1], [2, 1], [1, 4], [4, 4]])
def test_tags_that_were_not_asked_about_are_malformed(ends: list[int]) -> None:
    claim, _ = make_claim(3)
    claim.next_question(CERTIFICATE)
    with pytest.raises(RemoteError):
        claim.on_held(1, ends)


def test_leaving_names_the_last_message_that_was_begun_at_the_part() -> None:
    claim, part = make_claim(3)
    exchange(claim, part)
    assert [claim.leave(CERTIFICATE, begun).begun for begun in (0, 2, 3, 99)] == [0, 1, 2, 3]


@given(st.lists(st.tuples(st.sampled_from([S, T]), st.integers(1, 9)), max_size=12))
def test_held_ranges_name_the_messages_in_order(messages: list[tuple[bytes, int]]) -> None:
    assert numbers(as_held(messages)) == messages


@given(st.lists(st.tuples(st.sampled_from([S, T]), st.integers(1, 5), st.sampled_from([ME, OTHER]))))
def test_messages_are_divided_by_node_and_keep_their_tags(rows: list[tuple[bytes, int, bytes]]) -> None:
    held = tuple((stream, (first, first + 1)) for stream, first, _ in rows)
    here, others = split_held(held, [node for *_, node in rows], ME)
    every = numbers(held)
    mine = {tag for tag, (stream, _) in enumerate(numbers(here), 1) if stream}
    found = others.get(OTHER, {})
    assert {tag: every[tag - 1] for tag in found} == found
    assert mine | found.keys() == set(range(1, len(every) + 1)) and not mine & found.keys()
    assert [n for _, n in numbers(here)] == [n for _, n in every]


def test_without_nodes_all_messages_are_here() -> None:
    held = ((S, (1, 3)), (T, (2, 2)))
    assert split_held(held, (), ME) == (held, {})


def test_a_settlement_is_divided_by_its_tags() -> None:
    kept, rest = without_tags([(1, 4)], [(5, 8, NACK, 7, "why")], {2, 6, 7})
    assert (kept, rest) == ([(1, 1), (3, 4)], [(5, 5, NACK, 7, "why"), (8, 8, NACK, 7, "why")])


def test_a_question_that_settles_nothing_keeps_a_granted_claim() -> None:
    claim, part = make_claim(2)
    assert claim.touch(CERTIFICATE) is None, "the claim itself comes first"
    exchange(claim, part)
    ask = claim.touch(CERTIFICATE)
    assert ask is not None and (ask.done, ask.entries) == ([], [])
    assert claim.touch(CERTIFICATE) is None and claim.next_question(CERTIFICATE) is None
    claim.on_settled([])
    assert len(claim.left) == 2 and claim.is_granted
