"""Marks of envelopes that a client sends again after a reconnect, without a node."""

import pytest

from mesh.wire import commands as c
from mesh.wire.envelope import PERSISTENT, RESENT
from mesh.wire.limits import DURABLE, VISITS
from tests.mesh.client.core.askers import Bench
from tools.costing.wire import WELCOME

SPEAKS = (*WELCOME.speaks, DURABLE)


def post_persistent(bench: Bench, domain: str = "") -> None:
    bench.core.publisher.append_message("k", b"x", domain, PERSISTENT, b"", 0)
    bench.wait(0.01)


def flags(bench: Bench) -> list[tuple[str, int, int]]:
    return [(e.domain, e.first, e.flags & RESENT) for _, e in bench.published()]


@pytest.mark.parametrize("how", [{"boot": 2}, {"next": 1}])
def test_what_is_not_answered_says_so_to_another_process_and_what_is_new_not(how: dict[str, int]) -> None:
    bench = Bench()
    bench.lose(speaks=SPEAKS, boot=3)
    post_persistent(bench)
    post_persistent(bench, "a")
    bench.hear(c.Answers((c.Answer("", 1, 1, "OK"),)))
    post_persistent(bench)
    bench.done.clear()
    bench.lose(speaks=SPEAKS, **{"boot": 3, **how})
    assert sorted(flags(bench)) == [("", 2, RESENT), ("a", 1, RESENT)]
    post_persistent(bench)
    assert flags(bench)[-1] == ("", 3, 0)
    bench.lose(speaks=SPEAKS, boot=9)
    assert sorted(flags(bench)) == [("", 2, RESENT), ("", 3, RESENT), ("a", 1, RESENT)]


def test_the_same_process_and_one_of_an_earlier_release_hear_nothing_of_it() -> None:
    bench = Bench()
    post_persistent(bench)
    bench.lose()
    assert flags(bench) == [("", 1, 0)]
    bench.lose(boot=2)
    assert flags(bench) == [("", 1, 0)]


def test_what_was_never_sent_anywhere_says_nothing() -> None:
    bench = Bench()
    bench.core._place = (b"", 0)
    bench.core.on_disconnected(bench.context.now, bench.core.line.key)
    post_persistent(bench)
    bench.lose(speaks=SPEAKS)
    assert flags(bench) == [("", 1, 0)]


@pytest.mark.parametrize(("words", "mark"), [(("queues",), 0), (("queues", VISITS), RESENT)])
def test_a_put_is_marked_for_a_node_that_sessions_can_move_to(words: tuple[str, ...], mark: int) -> None:
    bench = Bench()
    bench.core.publisher.append_put("queue/jobs", (5, 0, ""), "", b"x", PERSISTENT, b"", 0)
    bench.wait(0.01)
    bench.lose(speaks=(*SPEAKS, *words), boot=2)
    bench.core.publisher.append_put("queue/jobs", (5, 0, ""), "", b"x", PERSISTENT, b"", 0)
    bench.wait(0.01)
    assert flags(bench) == [("queue/jobs", 1, mark), ("queue/jobs", 2, 0)]
