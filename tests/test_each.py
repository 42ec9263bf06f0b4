"""Tables of cases in one test: all cases are tried, and the failures are named."""

import pytest

from tests.each import each


def test_all_cases_are_tried_and_those_that_fail_are_named() -> None:
    tried = []

    @each("number", range(5), name=lambda number: f"no. {number}")
    def odd(number: int) -> None:
        tried.append(number)
        with pytest.raises(ZeroDivisionError):
            1 / (number % 2)

    with pytest.raises(BaseExceptionGroup, match="2 of 5") as failed:
        odd()
    assert tried == [0, 1, 2, 3, 4]
    assert [error.__notes__ for error in failed.value.exceptions] == [["number: no. 1"], ["number: no. 3"]]


def test_a_table_within_a_table_names_both() -> None:
    @each("a", "xy")
    @each("b", {"1": "", "2": ""})
    def equal(a: str, b: str) -> None:
        assert (a, b) != ("y", "2")

    with pytest.raises(BaseExceptionGroup) as failed:
        equal()
    [outer] = failed.value.exceptions
    assert isinstance(outer, BaseExceptionGroup) and outer.__notes__ == ["a: 'y'"]
    assert outer.exceptions[0].__notes__ == ["b: '2'"]


@each("case", [1, 2])
def test_a_fixture_is_beside_the_cases(case: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert case and tmp_path_factory.getbasetemp().exists()


def test_a_table_without_cases_is_refused() -> None:
    with pytest.raises(AssertionError, match="could not fail"):
        each("case", [])
