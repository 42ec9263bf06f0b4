"""The errors of the codes on the wire."""

import pytest

from mesh.client.core.refusals import REFUSALS, REPLIES, of_answer, of_code, of_reply_code
from mesh.errors import LocalError, MeshError, MeshTimeout, PublishRefused, Refused, RequestFailed
from mesh.wire.commands import Answer

SENDER = "/node/heron/client/adder/session/1"


@pytest.mark.parametrize("code", [*REFUSALS, "TOO_MANY_HOPS"])
def test_the_answer_to_a_message_becomes_the_error_of_its_code(code: str) -> None:
    error = of_answer(Answer("", 1, 1, code, 0, f"that is why. [{code}]"))
    assert (type(error), error.code) == (REFUSALS.get(code, PublishRefused), code)
    assert (error.what, str(error)) == ("that is why.", f"that is why. [{code}]")


@pytest.mark.parametrize("code", [*REPLIES, "TOO_MANY", "PROTOCOL"])
def test_the_reply_to_a_question_becomes_the_error_of_its_code(code: str) -> None:
    error = of_code(code, f"that is why. [{code}]")
    kind = Refused if code == "PROTOCOL" else REPLIES.get(code, LocalError)
    assert (type(error), error.code, error.what) == (kind, code, "that is why.")


@pytest.mark.parametrize(
    ("code", "sender", "kind"),
    [
        ("NO_HANDLERS", SENDER, RequestFailed),
        ("REQUEST_FAILED", "", RequestFailed),
        ("EXPIRED", "", MeshTimeout),
        ("NO_HANDLERS", "", REFUSALS["NO_HANDLERS"]),
        ("WHATEVER", "", PublishRefused),
    ],
)
def test_a_failed_request_is_told_by_its_handler_or_by_the_mesh(
    code: str, sender: str, kind: type[MeshError]
) -> None:
    assert type(of_reply_code(code, "that is why.", sender)) is kind
