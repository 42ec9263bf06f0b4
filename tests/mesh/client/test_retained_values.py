"""Reading retained values when nodes do not answer."""

from __future__ import annotations

import pytest

from mesh.client.retained_values import _report_missing


@pytest.mark.parametrize(
    ("missing", "logged"),
    [
        ([], ""),
        (["b"], "get('k/#') has no values of b, which did not answer in time"),
        (["e", "d", "c", "b", "b"], "has no values of b, c, d and 1 more, which did not answer in time"),
    ],
)
def test_nodes_whose_values_are_missing_are_logged_once(
    missing: list[str], logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    _report_missing("k/#", [({"more": True, "missing": missing}, []), ({"missing": missing[:1]}, [])])
    assert len(caplog.messages) == bool(logged)
    assert all(logged in message for message in caplog.messages)
