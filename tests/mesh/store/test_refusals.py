"""Refused numbers: left out of rows that were built before the refusal, and forgotten in the end."""

from mesh.operations import Delete, Op, Put
from mesh.store.refusals import Refusals
from mesh.streams.origin import OriginStream


def row(*accepted: tuple[int, int], low: int = 1, numbers: tuple[int, int] | None = None) -> Put:
    stream = OriginStream()
    for first, last in accepted:
        stream.accept_numbers(first, last, low)
    return Put("stream", b"joe", stream.pack(), numbers)


def written(refusals: Refusals, *ops: Op) -> list[Op]:
    return list(refusals.amended(ops))


def test_what_was_refused_is_refused_in_what_follows_until_its_publisher_knows() -> None:
    refusals = Refusals()
    refusals.record([row((1, 3), numbers=(1, 3))])
    (put,) = written(refusals, row((1, 3), (4, 4)))
    assert isinstance(put, Put)
    stream = OriginStream.unpack(put.value)
    assert (list(stream.above), list(stream.refused)) == ([(4, 4)], [(1, 3)])
    known = row((4, 5), low=4)
    assert written(refusals, known) == [known]
    again = row((1, 3))
    assert written(refusals, again) == [again], "it is forgotten"


def test_other_rows_and_other_streams_are_left_alone() -> None:
    refusals = Refusals()
    refusals.record([row((1, 1), numbers=(1, 1)), Put("retained", b"k", b"v")])
    others: list[Op] = [Put("retained", b"joe", b"v"), Delete("feed", b"joe")]
    others.append(Put("stream", b"jim", OriginStream().pack()))
    assert written(refusals, *others) == others


def test_with_its_stream_everything_is_forgotten() -> None:
    refusals = Refusals()
    refusals.record([row((1, 1), numbers=(1, 1))])
    written(refusals, Delete("stream", b"joe"))
    again = row((1, 1))
    assert written(refusals, again) == [again]
