"""Leases of a store: which process may continue, and which may take over, by times alone."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.store.lease import Lease, LeaseTiming, may_serve, may_take, pause, refusal, serves_until

TERMS = LeaseTiming()
LEASE = Lease(b"h" * 16, 7, "heron, process 5", 3, 4.0)


def test_the_times_are_those_of_the_page() -> None:
    assert (TERMS.ttl, TERMS.interval, TERMS.useful) == (10, 3, 8)
    assert TERMS.patience < TERMS.ttl


@pytest.mark.parametrize(("now", "may"), [(100.0, True), (107.9, True), (108.0, False), (500.0, False)])
def test_a_holder_stops_two_seconds_before_its_lease_runs_out(now: float, may: bool) -> None:
    assert may_serve(100.0, now, TERMS) is may


@given(sent=st.floats(0, 1e6), way=st.floats(0, 100), answer=st.floats(0, 100), ttl=st.floats(0.1, 100))
def test_it_stops_before_anybody_may_take_over_however_slow_the_way(
    sent: float, way: float, answer: float, ttl: float
) -> None:
    """The database writes the new end `way` after the renewal is sent. Its answer arrives `answer` later."""
    runs_out = sent + way + ttl
    assert serves_until(sent, LeaseTiming(ttl)) < runs_out
    assert not may_serve(sent, max(sent + way + answer, runs_out), LeaseTiming(ttl))


@pytest.mark.parametrize(
    ("failed", "now", "seconds"),
    [(False, 100.0, 3.0), (False, 102.0, 1.0), (False, 104.0, 0.0), (True, 100.0, 0.25), (True, 107.0, 0.25)],
)
def test_it_renews_every_three_seconds_and_tries_a_failed_renewal_again_soon(
    failed: bool, now: float, seconds: float
) -> None:
    assert pause(100.0, failed, now, TERMS) == seconds


@pytest.mark.parametrize(("left", "may"), [(4.0, False), (0.001, False), (0.0, True), (-60.0, True)])
def test_a_lease_is_taken_only_when_it_has_run_out(left: float, may: bool) -> None:
    assert may_take(replace(LEASE, left=left)) is may


@pytest.mark.parametrize(
    ("lease", "why"),
    [
        (LEASE, ""),
        (replace(LEASE, left=0.0), "LEASE_LOST"),
        (replace(LEASE, epoch=4), "FENCED"),
        (replace(LEASE, epoch=4, left=-1.0), "FENCED"),
        (replace(LEASE, epoch=2), "FENCED"),
        (None, "FENCED"),
    ],
)
def test_a_write_is_refused_without_the_lease(lease: Lease | None, why: str) -> None:
    assert refusal(lease, 3) == why


def test_a_lease_names_its_holder() -> None:
    assert str(LEASE) == "boot 7 of node 68686868 at heron, process 5, epoch 3"
