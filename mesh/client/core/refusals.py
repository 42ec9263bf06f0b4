"""Maps error codes on the wire to exceptions."""

from mesh.errors import (
    BadSelector,
    BadXPath,
    CircularLoop,
    Expired,
    HandlerLost,
    LeaseOver,
    LocalError,
    MasterAway,
    MeshError,
    MeshTimeout,
    NoHandlers,
    NoQueue,
    NotConnected,
    PublishRefused,
    QueueExists,
    QueueFull,
    QueueInUse,
    Refused,
    RequestFailed,
    SiteUnreachable,
    StaleSequence,
    TailBackFull,
    UnknownName,
    UnknownNode,
)
from mesh.wire.commands import Answer, Reply

REFUSALS: dict[str, type[PublishRefused]] = {
    kind.code: kind
    for kind in (
        CircularLoop,
        Expired,
        HandlerLost,
        MasterAway,
        NoHandlers,
        NoQueue,
        NotConnected,
        QueueFull,
        SiteUnreachable,
        StaleSequence,
        TailBackFull,
        UnknownNode,
    )
}
# Codes that occur only in replies are added here.
REPLIES: dict[str, type[LocalError]] = {
    **REFUSALS,
    **{kind.code: kind for kind in (BadSelector, BadXPath, LeaseOver, QueueExists, QueueInUse, UnknownName)},
}


def of_answer(answer: Answer) -> PublishRefused:
    kind = REFUSALS.get(answer.state, PublishRefused)
    return kind(_without_code(answer.text, answer.state), code=answer.state)


def of_reply(reply: Reply) -> MeshError:
    return of_code(reply.code, reply.text)


def of_code(code: str, text: str) -> MeshError:
    kind = Refused if code == "PROTOCOL" else REPLIES.get(code, LocalError)
    return kind(_without_code(text, code), code=code)


def of_reply_code(code: str, text: str, sender: str) -> MeshError:
    """Return the error of a failed request.

    With a `sender`, the service reported the failure; otherwise the mesh did.
    """
    if sender or code == "REQUEST_FAILED":
        return RequestFailed(text, code=code)
    if code == Expired.code:
        return MeshTimeout(_without_code(text, code))
    return REFUSALS.get(code, PublishRefused)(_without_code(text, code), code=code)


def _without_code(text: str, code: str) -> str:
    """Return the text without the code, which nodes append and the exception adds again."""
    return text.removesuffix(f" [{code}]")
