"""A standstill of a client's event loop, as late alarms show it."""

from mesh.client.core.standstill import LONG, RECENT, Standstill


def test_two_alarms_that_are_late_for_one_standstill_report_it_once() -> None:
    standstill = Standstill()
    assert "for 8 s" in standstill.rang(2.0, 10.0)
    assert standstill.rang(3.0, 10.1) == "", "it was due in the same standstill"
    assert "for 6 s" in standstill.rang(12.0, 18.0)


def test_a_short_delay_is_no_standstill_and_explains_no_lost_lease() -> None:
    standstill = Standstill()
    assert standstill.rang(1.0, 1.0 + LONG - 0.1) == ""
    assert "blocked" not in standstill.lease_over("It is over.", 6.0).what
    standstill.rang(10.0, 10.0 + LONG)
    ended = 10.0 + LONG
    assert f"blocked for {LONG:.0f} s" in standstill.lease_over("It is over.", ended + RECENT).what
    assert "blocked" not in standstill.lease_over("It is over.", ended + RECENT + 1).what
