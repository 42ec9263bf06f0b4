"""The exceptions of the mesh. This file imports nothing.

MeshError
 ├─ LocalError          the mesh does not allow this call, or not in the present state
 │   ├─ BadName, BadKey, BadQuery (BadPattern, BadSelector, BadXPath), BadArgument (BadType)
 │   ├─ BadConfig, BadFilter, BadXml, FeatureFailed
 │   ├─ MessageTooLarge
 │   ├─ NotAvailable, WouldBlock, Closed, WrongLoop
 │   ├─ NodeNotFound, NodeInUse, BindRefused, DataDirRefused, KeysRefused
 │   ├─ PublishRefused      a refused message or call
 │   │   ├─ StaleSequence, CircularLoop, UnknownNode, NotConnected, MasterAway, Expired
 │   │   ├─ TailBackFull, SiteFull, SiteUnreachable
 │   │   └─ NoHandlers, HandlerLost, NoQueue, QueueFull
 │   └─ UnknownName, QueueExists, QueueInUse, LeaseOver
 ├─ RemoteError         a peer broke the protocol: close the link, not the program
 │   └─ Refused         a peer refused, with a reason
 ├─ RequestFailed       a request that was answered with a failure
 ├─ BadContent          content that does not match its type
 ├─ SlowConsumer        a subscription with overflow="error" did not keep up
 ├─ MeshTimeout         no answer in time (also a TimeoutError)
 ├─ CoreFailed          a bug in the mesh itself has stopped the node
 └─ StoreError          the disk or database failed; nothing unsaved was acknowledged
     └─ StoreFull
"""

LONGEST_WORD, LONGEST_TEXT = 600, 6000  # characters of an error's text
ONE_MESH = "If it should be in this mesh: `mesh token` here, `mesh join` there, then restart it."
OTHER_SITE = "If it belongs to a linked site, this is expected: `mesh ls --sites`."


class MeshError(Exception):
    """Base class of all deliberate errors of the mesh.

    The text says what happened, where, the likely reason and what to type next.
    `code` is stable and meant for programs and for looking it up in the docs.
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
    """Return `repr(value)`, shortened for an error text; the type's name if `repr` fails."""
    try:
        text = repr(value)
    except Exception:
        text = f"a {type(value).__name__}"
    return text if len(text) <= 40 else f"{text[:40]}..."


def shortened(text: str) -> str:
    """Return a text for display, with long words and the whole text shortened."""
    if len(text) > LONGEST_WORD:
        words = (_ends(word, LONGEST_WORD) for word in text.split(" "))
        text = _ends(" ".join(words), LONGEST_TEXT)
    return text


def _ends(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}...({len(text) - most:,} more)...{text[-(most // 2) :]}"


class LocalError(MeshError):
    """The mesh does not allow this call, or does not allow it in the present state."""

    code = "LOCAL"


class BadName(LocalError):
    """A name that breaks the grammar: of a node, client, session, address or queue, or a message id."""

    code = "BAD_NAME"


class BadKey(LocalError):
    """An invalid key or domain."""

    code = "BAD_KEY"


class BadQuery(LocalError):
    """An invalid query, or a call that cannot be made now, such as opening an inbox twice."""

    code = "BAD_QUERY"


class BadPattern(BadQuery):
    """A topic pattern that is empty, or has a misplaced wildcard."""


class BadSelector(BadQuery):
    """An invalid selector."""

    code = "BAD_SELECTOR"


class BadXPath(BadQuery):
    """An XPath that is invalid, not supported, or too expensive."""

    code = "BAD_XPATH"


class BadXml(LocalError):
    """A key's XML is malformed, too large, or contains forbidden constructs."""

    code = "BAD_XML"


class BadFilter(LocalError):
    """A filter or mapper of a rule that is not installed, or has an invalid argument."""

    code = "BAD_FILTER"


class FeatureFailed(LocalError):
    """A feature that cannot be loaded or built, so the node does not start; the text names it."""

    code = "FEATURE"


class BadArgument(LocalError, ValueError):
    """An invalid value of an argument or option."""

    code = "BAD_ARGUMENT"


class BadType(BadArgument, TypeError):
    """An argument or option of an invalid type."""


class BadConfig(LocalError):
    """A setting that is unknown, malformed or out of range; the text says where."""

    code = "BAD_CONFIG"


class MessageTooLarge(LocalError):
    """Content above `limits.max_content`; this message was not sent."""

    code = "TOO_LARGE"


class NotAvailable(LocalError):
    """A function that this release, the node's release or this environment does not support."""

    code = "NOT_AVAILABLE"


class WouldBlock(LocalError):
    """The window of unanswered messages is full: await `flush()` and continue."""

    code = "WOULD_BLOCK"


class Closed(LocalError):
    """A client, subscription, consumer, service or node that is closed, or is not open yet."""

    code = "CLOSED"


class WrongLoop(LocalError):
    """The client is used outside the event loop where it was opened, or opened without one."""

    code = "WRONG_LOOP"


class NodeNotFound(LocalError):
    """The node was not found or did not answer, or several nodes run here and none was selected."""

    code = "NO_NODE"


class NodeInUse(LocalError):
    """Another running node already has this name or identity."""

    code = "NAME_IN_USE"


class BindRefused(LocalError):
    """An address to which this node cannot or must not bind."""

    code = "BIND"


class DataDirRefused(LocalError):
    """A data directory, or another file of the mesh, that is in use, damaged or not accessible."""

    code = "DATA_DIR"


class KeysRefused(LocalError):
    """Keys, or a token for them, that are missing, damaged, expired or not valid here."""

    code = "KEYS"


class PublishRefused(LocalError):
    """A refused message or call; `code` has the reason."""

    code = "REFUSED"


class StaleSequence(PublishRefused):
    """A resent message that is older than its master's records, so it may be a duplicate."""

    code = "STALE_SEQUENCE"


class CircularLoop(PublishRefused):
    """A routing loop: the rules send a message back to a node that it has passed; the text has the path."""

    code = "CIRCULAR_LOOP"


class UnknownNode(PublishRefused):
    """No node of that name can be reached."""

    code = "UNKNOWN_NODE"


class NotConnected(PublishRefused):
    """The session, or every session of the client, is disconnected."""

    code = "NOT_CONNECTED"


class MasterAway(PublishRefused):
    """The master of a topic cannot be reached, so its value is unknown."""

    code = "MASTER_AWAY"


class TailBackFull(PublishRefused):
    """The outbound buffer for unreachable masters is full."""

    code = "TAILBACK_FULL"


class SiteFull(PublishRefused):
    """The buffer for another site is full, and `when_full` is "reject"."""

    code = "SITE_FULL"


class SiteUnreachable(PublishRefused):
    """Another site is unknown, down or not linked; the message does not wait for it."""

    code = "SITE_UNREACHABLE"


class Expired(PublishRefused):
    """The message waited beyond its expiry, or beyond a limit."""

    code = "EXPIRED"


class NoHandlers(PublishRefused):
    """No reachable client serves that address; the request was not delivered."""

    code = "NO_HANDLERS"


class HandlerLost(PublishRefused):
    """The service or node that had the request was lost; the request may have run."""

    code = "HANDLER_LOST"


class NoQueue(PublishRefused):
    """The node has no queue of that name.

    The queue was never declared, was deleted, or exists only at another node.
    """

    code = "NO_QUEUE"


class QueueFull(PublishRefused):
    """The queue is full."""

    code = "QUEUE_FULL"


class UnknownName(LocalError):
    """No node, client, session, address, queue or site has the name, as far as the asked node knows."""

    code = "UNKNOWN_NAME"


class QueueExists(LocalError):
    """The queue was declared before with other options; the text shows the difference."""

    code = "QUEUE_EXISTS"


class QueueInUse(LocalError):
    """The queue was not deleted, because it has, or may have, messages or a consumer at some node."""

    code = "QUEUE_IN_USE"


class LeaseOver(LocalError):
    """The message no longer belongs to this consumer; another one may have it."""

    code = "LEASE_OVER"


class RemoteError(MeshError):
    """A peer broke the protocol: close the link, not the program."""

    code = "PROTOCOL"


class Refused(RemoteError):
    """A peer refused, with a reason in `code`."""

    code = "REFUSED"


class MeshTimeout(MeshError, TimeoutError):
    """No answer in time. The operation may still succeed.

    `ids` names the messages that `publish`, `send` or `put` sent and that may still arrive. `final(id)`
    returns the outcome of each.
    """

    code = "TIMEOUT"
    ids: tuple[str, ...] = ()


class RequestFailed(MeshError):
    """A request that was answered with a failure; `code` and `text` come from the service."""

    code = "FAILED"

    def __init__(self, text: str, *, hint: str = "", code: str = "") -> None:
        text = str(text)
        said = "".join(c if c.isprintable() else " " for c in text[:4096])
        super().__init__(said or "The request failed without a reason.", hint=hint, code=str(code))
        self.text = text


class BadContent(MeshError, ValueError):
    """Content that does not match its type or the reader's type; the next read continues.

    `key` and `sender` are those of the message. `place` is the invalid part of the value, such as `$.temp`,
    or "$" for the whole value.
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
    """A subscription with overflow="error" that did not keep up, and was ended to avoid a gap."""

    code = "SLOW_CONSUMER"


class CoreFailed(MeshError):
    """A bug in the mesh itself: a change may be half done, so the node has stopped."""

    code = "CORE_FAILED"


class StoreError(MeshError):
    """The disk or database failed; nothing unsaved was acknowledged."""

    code = "STORE"


class StoreFull(StoreError):
    """The store has no space; the message was refused, and no other message was lost."""

    code = "STORE_FULL"
