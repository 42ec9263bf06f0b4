"""Answers to publishers: refusals, and the combined answer of several masters."""

from collections.abc import Sequence
from itertools import pairwise

from mesh.errors import Expired, MeshError
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope

# Law: OK means that each master has the message. A refusal means that none has it. If only some accepted it,
# the answer is PARTLY_REFUSED and names all masters. A master that never answered may have it: EXPIRED
# therefore takes precedence over refusals of the others.

PARTLY_REFUSED = "PARTLY_REFUSED"

Said = Sequence[tuple[str, Answer]]  # master, its final answer


def verdicts(said: Said, first: int, last: int) -> list[Answer]:
    """Return the final answers on first..last, cut where the answer of any master begins or ends."""
    starts = {number for _, a in said for number in (a.first, a.last + 1) if first < number <= last}
    bounds = sorted({first, *starts, last + 1})
    return [_verdict(said, a, b - 1) for a, b in pairwise(bounds)]


def _verdict(said: Said, first: int, last: int) -> Answer:
    about = {who: answer for who, answer in said if answer.first <= first and last <= answer.last}
    took = {who: answer for who, answer in about.items() if answer.state == "OK"}
    refused = {who: answer for who, answer in about.items() if who not in took}
    silent = (answer for answer in refused.values() if answer.state == Expired.code)
    one = next(silent, next(iter((refused or took).values())))
    if took and refused:
        whys = "; ".join(f"{who} refused: {answer.text}" for who, answer in refused.items())
        return Answer(
            one.domain, first, last, PARTLY_REFUSED, 0, f"{', '.join(took)} accepted the message, but {whys}"
        )
    return Answer(one.domain, first, last, one.state, sum(a.matched for a in took.values()), one.text)


def refusal(envelope: Envelope, error: MeshError) -> Answer:
    return Answer(envelope.domain, envelope.first, envelope.last, state=error.code, text=str(error))
