"""Replies to a request that goes to all consumers of an address. The test plays the node."""

from __future__ import annotations

from mesh.errors import HandlerLost, PublishRefused, RequestFailed
from mesh.features.services.client.core.gathered import Gathered
from tests.mesh.client.core.askers import Bench, reply


def taken(gathered: Gathered) -> list[bytes]:
    contents = []
    while (found := gathered.take_reply()) is not None:
        contents.append(found[0].content)
    return contents


def test_a_question_to_all_ends_with_the_last_reply_that_is_expected() -> None:
    bench = Bench()
    number, gathered = bench.gather()
    bench.wait()
    bench.item(reply(number, content=b"a"))
    assert gathered.expected is None and not gathered.is_over
    bench.answer(1, 1, matched=2)
    assert gathered.expected == 2 and not gathered.is_over
    bench.item(reply(number, content=b"b"))
    assert gathered.is_over and taken(gathered) == [b"a", b"b"] and bench.is_empty
    bench.item(reply(number))
    assert bench.core.requests.late == 1


def test_it_ends_with_as_many_as_are_wanted_and_with_its_time_and_when_nobody_serves_it() -> None:
    bench = Bench()
    (one, few), (_, slow), (_, none), (_, full) = (bench.gather(most=m) for m in (1, 9, 9, 9))
    bench.wait()
    bench.item(reply(one))
    assert few.is_over and taken(few) == [b"yes"]
    bench.answer(3, 3, "NO_HANDLERS")
    assert (none.is_over, none.expected, none.error) == (True, 0, None)
    bench.answer(4, 4, "ADDRESS_FULL")
    assert full.is_over and isinstance(full.error, PublishRefused)
    bench.wait(1.1)
    assert slow.is_over and slow.error is None and bench.is_empty


def test_a_failure_among_the_replies_is_one_of_them() -> None:
    bench = Bench()
    number, gathered = bench.gather()
    bench.wait()
    bench.answer(1, 1, matched=2)
    bench.item(reply(number, code="HANDLER_LOST", sender=""))
    bench.item(reply(number, code="BUSY"))
    errors = [found[1] for found in iter(gathered.take_reply, None)]
    assert [type(error) for error in errors] == [HandlerLost, RequestFailed] and gathered.is_over
