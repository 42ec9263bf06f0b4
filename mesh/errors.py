"""The exceptions of the mesh. This file imports nothing.

MeshError
 ├─ LocalError          the request is invalid, or not possible now
 │   ├─ BadName, BadKey, BadQuery (BadPattern, BadSelector, BadXPath), BadArgument (BadType)
 │   ├─ BadConfig, BadFilter, BadXml
 │   ├─ MessageTooLarge
 │   ├─ NotAvailable, WouldBlock, Closed, WrongLoop
 │   ├─ NodeNotFound, NodeInUse, BindRefused, DataDirRefused, KeysRefused
 │   ├─ PublishRefused, StaleSequence
 │   ├─ CircularLoop, UnknownNode, NotConnected, MasterAway, TailBackFull, SiteFull, SiteUnreachable, Expired
 │   ├─ NoHandlers, HandlerLost
 │   └─ NoQueue, QueueFull, QueueExists, QueueInUse, LeaseOver
 ├─ RemoteError         a peer violated the protocol: close the link, not the program
 │   └─ Refused         a peer refused, with a reason
 ├─ RequestFailed       a service reported a failure
 ├─ BadContent          a content is not of the type that its reader expects
 ├─ SlowConsumer        a subscription with overflow="error" did not keep up
 ├─ MeshTimeout         no answer in time (also a TimeoutError)
 ├─ CoreFailed          a bug in the mesh has ended the node
 └─ StoreError          the disk or database failed; only stored messages were acknowledged
     └─ StoreFull
"""

LONGEST_WORD, LONGEST_TEXT = 600, 6000  # characters of an error's text
ONE_MESH = "If it should be of this mesh: mesh token here, mesh join there, and start it again."
OTHER_SITE = "If it is of a linked site, that is as it should be: mesh ls --sites"


class MeshError(Exception):
    """Base class of all errors that the mesh raises on purpose.

    The text says what happened, where, the likely reason, and what to type next. `code` is stable, for
    programs and for the documentation.
    """

    code: str = "MESH"

    def __init__(self, what: str, *, hint: str = "", code: str = "") -> None:
        self.what: str = shortened(what)
        super().__init__(self.what)
        self.hint: str = shortened(hint)
        if code:
            self.code = code

    def __str__(self) -> str:
        hint = f" {self.hint}" if self.hint else ""
        return f"{self.what}{hint} [{self.code}]"


def shown(value: object) -> str:
    """Return the repr of any value, shortened for an error text."""
    try:
        text = repr(value)
    except Exception:
        text = f"a {type(value).__name__}"
    return text if len(text) <= 40 else f"{text[:40]}..."


def shortened(text: str) -> str:
    """Return an error text with its long words, and the whole text, shortened to a readable length."""
    if len(text) > LONGEST_WORD:
        words = (_ends(word, LONGEST_WORD) for word in text.split(" "))
        text = _ends(" ".join(words), LONGEST_TEXT)
    return text


def _ends(text: str, most: int) -> str:
    """Return the beginning and end of a text that is longer than `most`."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}...({len(text) - most:,} more)...{text[-(most // 2) :]}"


class LocalError(MeshError):
    """A request that is invalid, or not possible now."""

    code = "LOCAL"


class BadName(LocalError):
    """An invalid name of a node, client, session, queue or address."""

    code = "BAD_NAME"


class BadKey(LocalError):
    """A key under which no message can be published."""

    code = "BAD_KEY"


class BadQuery(LocalError):
    """An invalid query of a subscription or get."""

    code = "BAD_QUERY"


class BadPattern(BadQuery):
    """A topic pattern that is empty, or has a misplaced wildcard."""


class BadSelector(BadQuery):
    """A selector that is not an expression, or uses an unsupported feature."""

    code = "BAD_SELECTOR"


class BadXPath(BadQuery):
    """An XPath that is invalid, uses an unsupported feature, or would cost too much."""

    code = "BAD_XPATH"


class BadXml(LocalError):
    """XML of a key that is malformed, too large, or has forbidden content."""

    code = "BAD_XML"


class BadFilter(LocalError):
    """A filter or mapper of a rule that is not installed, or has invalid arguments."""

    code = "BAD_FILTER"


class BadArgument(LocalError, ValueError):
    """A value that a call or option does not accept. Nothing was sent."""

    code = "BAD_ARGUMENT"


class BadType(BadArgument, TypeError):
    """A value of a type that a call or option does not accept. Nothing was sent."""


class BadConfig(LocalError):
    """A setting that is unknown, malformed or out of range. The text names its file and place."""

    code = "BAD_CONFIG"


class MessageTooLarge(LocalError):
    """Content larger than `max-content`. Nothing was sent."""

    code = "TOO_LARGE"


class NotAvailable(LocalError):
    """A name that is reserved in the API, and that this release does not implement."""

    code = "NOT_AVAILABLE"


class WouldBlock(LocalError):
    """A full window of unanswered messages: await `flush()` and go on."""

    code = "WOULD_BLOCK"


class Closed(LocalError):
    """A call on a closed client, subscription or node."""

    code = "CLOSED"


class WrongLoop(LocalError):
    """A use of the client outside the event loop in which it was opened."""

    code = "WRONG_LOOP"


class NodeNotFound(LocalError):
    """A missing node: none runs here, or several do and none was chosen."""

    code = "NO_NODE"


class NodeInUse(LocalError):
    """A node name that another live node has."""

    code = "NAME_IN_USE"


class BindRefused(LocalError):
    """An address that this node cannot or must not bind."""

    code = "BIND"


class DataDirRefused(LocalError):
    """A data directory that is in use, damaged or not writable."""

    code = "DATA_DIR"


class KeysRefused(LocalError):
    """Keys, or a token for them, that are missing, damaged, too old or for another purpose."""

    code = "KEYS"


class PublishRefused(LocalError):
    """A message that the mesh refused; `code` says why."""

    code = "REFUSED"


class StaleSequence(PublishRefused):
    """A resent message older than its master's records, which could be a duplicate."""

    code = "STALE_SEQUENCE"


class CircularLoop(PublishRefused):
    """A routing loop: the rules send a message back to a node that it visited. The text shows the route."""

    code = "CIRCULAR_LOOP"


class UnknownNode(PublishRefused):
    """A message to a node that is not reachable, and for which the message was not to wait."""

    code = "UNKNOWN_NODE"


class NotConnected(PublishRefused):
    """A message to a disconnected session or client, for which the message was not to wait."""

    code = "NOT_CONNECTED"


class MasterAway(PublishRefused):
    """An unreachable master, whose retained value is unknown."""

    code = "MASTER_AWAY"


class TailBackFull(PublishRefused):
    """A message for an unreachable master whose outbound buffer is full."""

    code = "TAILBACK_FULL"


class SiteFull(PublishRefused):
    """A message for another site whose buffer is full and configured to refuse."""

    code = "SITE_FULL"


class SiteUnreachable(PublishRefused):
    """A message for a site that is unknown, down, or without a route. The message does not wait."""

    code = "SITE_UNREACHABLE"


class Expired(PublishRefused):
    """A message that waited longer than its expiry, or than its queue allows."""

    code = "EXPIRED"


class NoHandlers(PublishRefused):
    """A message to an address without a reachable service. Nothing was done."""

    code = "NO_HANDLERS"


class HandlerLost(PublishRefused):
    """A message whose service was lost. Its work may have been done."""

    code = "HANDLER_LOST"


class NoQueue(PublishRefused):
    """A queue that the node does not know: it was never declared, or was deleted."""

    code = "NO_QUEUE"


class QueueFull(PublishRefused):
    """A message for a queue that is full and rejects."""

    code = "QUEUE_FULL"


class QueueExists(LocalError):
    """A declaration of a queue that exists with other terms; the text names the differences."""

    code = "QUEUE_EXISTS"


class QueueInUse(LocalError):
    """A queue that was not deleted: at some node it has consumers or messages, or may have."""

    code = "QUEUE_IN_USE"


class LeaseOver(LocalError):
    """A message that is no longer this consumer's: it waits again, or another consumer has it."""

    code = "LEASE_OVER"


class RemoteError(MeshError):
    """A violation of the protocol by a peer: close the link, not the program."""

    code = "PROTOCOL"


class Refused(RemoteError):
    """A refusal by a peer, with the reason in `code`."""

    code = "REFUSED"


class MeshTimeout(MeshError, TimeoutError):
    """A time limit that passed without an answer. The operation may still be carried out.

    `ids` has the ids of messages that `publish` or `send` sent before. `final` of an id returns its outcome.
    """

    code = "TIMEOUT"
    ids: tuple[str, ...] = ()


class RequestFailed(MeshError):
    """A failure that a service reported; `code` and `text` are the service's."""

    code = "FAILED"

    def __init__(self, text: str, *, hint: str = "", code: str = "") -> None:
        text = str(text)
        said = "".join(c if c.isprintable() else " " for c in text[:4096])
        super().__init__(said or "it failed, and nobody says why.", hint=hint, code=str(code))
        self.text = text


class BadContent(MeshError, ValueError):
    """A content that does not match its content-type, or the type that its reader expects.

    `key` and `sender` are those of the message, and `place` is where in the value, such as `$.temp` ("$": all
    of it). The next message can be read as usual.
    """

    code = "BAD_CONTENT"

    key: str
    sender: str
    place: str

    def __init__(
        self, what: str, *, key: str = "", sender: str = "", place: str = "$", hint: str = "", code: str = ""
    ) -> None:
        super().__init__(what, hint=hint, code=code)
        self.key, self.sender, self.place = key, sender, place


class SlowConsumer(MeshError):
    """A subscription with overflow="error" that did not keep up, and ended instead of missing messages."""

    code = "SLOW_CONSUMER"


class CoreFailed(MeshError):
    """A bug in the mesh: a change may be incomplete, so the node has ended."""

    code = "CORE_FAILED"


class StoreError(MeshError):
    """A failure of the disk or database. Only stored messages were acknowledged."""

    code = "STORE"


class StoreFull(StoreError):
    """A full store. The message was refused, and nothing else was lost."""

    code = "STORE_FULL"
