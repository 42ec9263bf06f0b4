"""Several masters have said what became of a message: what is its publisher told?"""

from collections.abc import Sequence
from itertools import pairwise

from mesh.errors import Expired
from mesh.wire.commands import Answer

# Law: OK means that each of them has it. A refusal means that none of them has it. What only some of them
#      took is PARTLY_REFUSED, with the names of both, and is called neither. Who was given up without a
#      word may have it all the same: so EXPIRED goes before what others say that have it not.

PARTLY_REFUSED = "PARTLY_REFUSED"

Said = Sequence[tuple[str, Answer]]  # who, and his last word


def verdicts(said: Said, first: int, last: int) -> list[Answer]:
    """The last word on numbers first..last, cut where the words differ."""
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
        whys = "; ".join(f"{who} refused it: {answer.text}" for who, answer in refused.items())
        return Answer(one.domain, first, last, PARTLY_REFUSED, 0, f"{', '.join(took)} took it, but {whys}")
    return Answer(one.domain, first, last, one.state, sum(a.matched for a in took.values()), one.text)
