"""Each row of the table refuses its messages of clients, and no others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.errors import RemoteError
from mesh.kernel.subscribers.publish_refusals import REFUSALS, Attempt, is_well_addressed, refusal_of
from mesh.names import SENDS
from mesh.wire.envelope import FORCE_QUEUING, LOCAL_ONLY, PERSISTENT, RESENT, Envelope

JOBS = "queue/jobs"


def attempt(
    to: str = "",
    domain: str = "",
    flags: int = 0,
    put: tuple[int, int, str] | tuple[()] = (),
    may_write: bool = True,
) -> Attempt:
    e = Envelope(b"s" * 16, domain, 3, 3, ("",), 1, 1, b"x", to=to, flags=flags, put=put)
    return Attempt(e, "joe", may_write, {"address": None})


def code(tried: Attempt) -> str:
    """Return the code with which the attempt is refused, or ""."""
    row = refusal_of(tried)
    try:
        return row.answer(tried).state if row is not None else ""
    except RemoteError as error:
        return error.code


@pytest.mark.parametrize(
    ("tried", "expected", "is_counted"),
    [
        (attempt(), "", False),
        (attempt(domain="WEATHER", flags=PERSISTENT | FORCE_QUEUING), "", False),
        (attempt(to="client/joe"), "", False),
        (attempt(to=JOBS, domain=JOBS), "", False),
        (attempt(to=JOBS, domain=JOBS, flags=PERSISTENT, put=(9, 0, "red")), "", False),
        (attempt(to=JOBS, domain=JOBS, flags=PERSISTENT | RESENT), "", False),
        (attempt(to="calc/add", domain=SENDS, flags=LOCAL_ONLY | RESENT), "", False),
        (attempt(may_write=False), "NOT_ALLOWED", False),
        (attempt(to=JOBS, domain="", may_write=False), "NOT_ALLOWED", False),
        (attempt(to="client/joe", domain=SENDS), "BAD_NAME", False),
        (attempt(to=JOBS, domain=SENDS), "BAD_NAME", False),
        (attempt(to="calc/add", domain=SENDS, flags=PERSISTENT), "BAD_ARGUMENT", False),
        (attempt(put=(5, 0, "g")), "MALFORMED", False),
        (attempt(to="client/joe", domain=JOBS, put=(5, 0, "g")), "MALFORMED", False),
        (attempt(domain=JOBS), "RESERVED", True),
        (attempt(to="client/joe", domain=JOBS), "RESERVED", True),
        (attempt(to=JOBS), "BAD_NAME", True),
        (attempt(to=JOBS, domain="queue/other"), "BAD_NAME", True),
        (attempt(to=JOBS, domain=JOBS, flags=LOCAL_ONLY), "BAD_ARGUMENT", True),
        (attempt(to=JOBS, domain=JOBS, put=(5, 0, "a\0b")), "BAD_ARGUMENT", True),
    ],
)
def test_each_refusal_has_its_code(tried: Attempt, expected: str, is_counted: bool) -> None:
    assert code(tried) == expected
    row = refusal_of(tried)
    assert (row is not None and row.is_counted) is is_counted


def test_each_row_is_needed() -> None:
    """Each row decides about some attempt of the table above, so none hides behind an earlier one."""
    (mark,) = test_each_refusal_has_its_code.pytestmark  # type: ignore[attr-defined]
    rows = [refusal_of(tried) for tried, _, _ in mark.args[1]]
    assert {id(row) for row in REFUSALS} <= {id(row) for row in rows}


@given(
    st.builds(
        attempt,
        to=st.sampled_from(("", "client/joe", "calc/add", JOBS, "queue/other", "queue", "/site/B/client/x")),
        domain=st.sampled_from(("", "WEATHER", SENDS, JOBS, "queue/other")),
        flags=st.sampled_from((0, PERSISTENT, LOCAL_ONLY, FORCE_QUEUING, PERSISTENT | RESENT)),
        put=st.sampled_from(((), (5, 0, ""), (5, 0, "g"), (5, 0, "a\0b"))),
    )
)
def test_no_row_applies_to_a_well_addressed_envelope(tried: Attempt) -> None:
    if is_well_addressed(tried.envelope):
        assert refusal_of(tried) is None


@pytest.mark.parametrize("tried", [attempt(to="client/joe"), attempt(to=JOBS, domain=JOBS, put=(9, 0, ""))])
def test_usual_envelopes_are_well_addressed(tried: Attempt) -> None:
    assert is_well_addressed(tried.envelope)


def test_a_refusal_is_about_all_messages_of_the_envelope() -> None:
    tried = attempt(to=JOBS)
    row = refusal_of(tried)
    assert row is not None
    answer = row.answer(tried)
    assert (answer.domain, answer.first, answer.last) == ("", 3, 3)
