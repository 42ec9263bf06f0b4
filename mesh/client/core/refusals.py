"""Which error does a code on the wire stand for?"""

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
# What is said in replies only.
REPLIES: dict[str, type[LocalError]] = {
    **REFUSALS,
    **{kind.code: kind for kind in (BadSelector, BadXPath, LeaseOver, QueueExists, QueueInUse)},
}


def of_answer(answer: Answer) -> PublishRefused:
    """Why a message was refused."""
    kind = REFUSALS.get(answer.state, PublishRefused)
    return kind(_without_code(answer.text, answer.state), code=answer.state)


def of_reply(reply: Reply) -> MeshError:
    """Why a question was not answered."""
    return of_code(reply.code, reply.text)


def of_code(code: str, text: str) -> MeshError:
    """The same of anything that the node says about what was asked for."""
    kind = Refused if code == "PROTOCOL" else REPLIES.get(code, LocalError)
    return kind(_without_code(text, code), code=code)


def of_reply_code(code: str, text: str, sender: str) -> MeshError:
    """Why a request has failed: whoever serves the address says so or, without a sender, the mesh itself."""
    if sender or code == "REQUEST_FAILED":
        return RequestFailed(text, code=code)
    if code == Expired.code:
        return MeshTimeout(_without_code(text, code))
    return REFUSALS.get(code, PublishRefused)(_without_code(text, code), code=code)


def _without_code(text: str, code: str) -> str:
    """A node writes its errors as they read; here the code is added anew."""
    return text.removesuffix(f" [{code}]")
