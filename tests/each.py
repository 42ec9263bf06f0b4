"""A table of cases as one test: all cases run, and those that fail are named.

`parametrize` makes a test of each case, which all workers collect and one reports: 2 ms of CPU. `each` is for
tables whose cases take less than that, and whose fixtures are not set up for each case.
"""

from collections.abc import Callable, Collection
from inspect import Parameter, Signature, signature
from typing import Any, TypeVar

import pytest

Case = TypeVar("Case")
SHOWN = 10  # failed cases in the report


def each(
    argument: str, cases: Collection[Case], name: Callable[[Case], str] = repr
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    assert cases, "without a case it could not fail"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def of_all(**others: Any) -> None:
            failed: list[BaseException] = []
            for case in cases:
                try:
                    test(**{argument: case}, **others)
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"{argument}: {name(case)}")
                    failed.append(error)
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(cases)} cases failed", failed[:SHOWN])

        for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(of_all, attribute, getattr(test, attribute))
        of_all.__dict__.update(test.__dict__, __wrapped__=test, __signature__=_without(argument, test))
        return of_all

    return decorate


def _without(argument: str, test: Callable[..., None]) -> Signature:
    """Return the signature without `argument`, for fixtures and an outer table."""
    parameters = dict(signature(test).parameters)
    del parameters[argument]
    return Signature([one.replace(kind=Parameter.KEYWORD_ONLY) for one in parameters.values()])
