"""Figures of services: limited in number, and exact within their resolution."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.features.services.model.figures import COUNTED, MOST, SPAN, ServiceFigures
from mesh.features.services.model.replies import refusal
from mesh.snapshots.outcomes import LEAST, bucket_of, quantile
from mesh.wire.envelope import Envelope

STREAM = bytes(16)


def reply(n: int = 1) -> Envelope:
    return Envelope(STREAM, "address/", 1, n, ("",), n, 0, b"", sender="/node/a/client/s/session/1")


@given(st.lists(st.floats(LEAST, 1e6), min_size=1), st.floats(0.01, 1))
def test_a_quantile_is_right_to_a_sixteenth(seconds: list[float], share: float) -> None:
    found = quantile(Counter(map(bucket_of, seconds)), share)
    ordered = sorted(seconds)
    exact = next(x for n, x in enumerate(ordered, 1) if n >= share * len(ordered) - 1e-9)
    assert found == pytest.approx(exact, rel=1 / 15)


def test_what_took_no_time_took_next_to_none() -> None:
    assert quantile(Counter({bucket_of(0.0): 1}), 0.5) == pytest.approx(LEAST, rel=0.1)
    assert quantile({}, 0.5) is None


def test_however_many_addresses_there_are_the_busiest_are_kept() -> None:
    figures = ServiceFigures()
    for n in range(5 * MOST):
        figures.count_requests("busy", "a", 2)
        figures.count_requests(f"never again {n}", "a", 1)
    found = figures.busiest(5 * MOST)
    assert COUNTED <= len(found) <= MOST
    assert (found[0][0], found[0][2].requests) == ("busy", 10 * MOST)
    assert figures.all.requests == 15 * MOST


def test_a_refusal_of_the_mesh_and_an_error_of_a_handler_differ_whatever_its_code() -> None:
    figures = ServiceFigures()
    of_mesh = refusal(STREAM, (1, 2), "ann", "HANDLER_LOST", "gone")
    figures.count_replies("x", "a", of_mesh, (0, 1), 1.0, 1.0)
    of_handler = Envelope(
        STREAM, "address/", 1, 2, ("",), 2, of_mesh.sizes, of_mesh.body, props=of_mesh.props, sender="s"
    )
    figures.count_replies("x", "a", of_handler, (1,), 1.0, 1.0)
    [(_, _, one)] = figures.busiest(1)
    assert (one.lost, one.failed, one.replies, one.seconds, one.failures) == (2, 1, 0, 0.0, 3)


def test_a_look_is_at_what_is_new_since_the_last_one() -> None:
    figures = ServiceFigures()
    figures.count_replies("x", "a", reply(3), (0, 1, 2), 0.5, 1.0)
    [(_, _, one)] = figures.busiest(1)
    assert list(one.take_percentiles()) == pytest.approx([0.5, 0.5], rel=0.07)
    assert one.take_percentiles() == (None, None)
    figures.count_replies("x", "a", reply(), (0,), 8.0, 2.0)
    assert one.take_percentiles()[0] == pytest.approx(8, rel=0.07)
    assert (one.replies, one.seconds) == (4, 9.5)


def test_of_late_is_the_last_five_to_ten_seconds() -> None:
    figures = ServiceFigures()
    figures.count_replies("x", "a", reply(), (0,), 1.0, 100.0)
    figures.count_replies("y", "b", reply(99), range(99), 0.01, 100.0 + SPAN - 0.1)
    assert figures.latency(100.0 + SPAN - 0.1, 0.5) == pytest.approx(0.01, rel=0.07)
    assert figures.latency(100.0 + 2 * SPAN - 0.1, 1.0) == pytest.approx(1.0, rel=0.07)
    assert figures.latency(100.0 + 2 * SPAN, 1.0) == 0
    figures.count_replies("x", "a", reply(), (0,), 1.0, 200.0)
    assert figures.latency(1000.0, 0.5) == 0
