"""Callers that wait until it is known who serves a name."""

from mesh.core.presence.lookups import Lookups

X = ("address", "x")


def test_E21_one_lookup_for_an_address_and_answers_in_order() -> None:
    lookups, said = Lookups(), list[str]()

    def first() -> None:
        said.append("p1")
        lookups.when_known(X, 0.0, lambda: said.append("within p1"), is_known=True)

    lookups.when_known(X, 0.0, first, is_known=False)
    lookups.when_known(X, 0.0, lambda: said.append("p2"), is_known=True)
    assert said == [] and len(lookups) == 1
    lookups.review(0.1, lambda name: True)
    assert said == ["p1", "p2", "within p1"] and len(lookups) == 0


def test_nobody_waits_longer_than_two_seconds_whoever_does_not_answer() -> None:
    lookups, said = Lookups(), list[str]()
    lookups.when_known(X, 10.0, lambda: said.append("first"), is_known=False)
    lookups.when_known(X, 11.0, lambda: said.append("second"), is_known=False)
    lookups.review(11.9, lambda name: False)
    assert said == [] and lookups.deadline == 12.0
    lookups.review(12.0, lambda name: False)
    assert said == ["first"] and lookups.deadline == 13.0
