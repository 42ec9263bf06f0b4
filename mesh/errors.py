"""What can go wrong, and whose fault is it? (This file imports nothing.)

MeshError
 ├─ LocalError          you asked for something that the mesh does not allow, or not now
 │   ├─ BadName, BadKey, BadQuery (BadPattern, BadSelector, BadXPath), BadArgument (BadType)
 │   ├─ BadConfig, BadFilter, BadXml
 │   ├─ MessageTooLarge
 │   ├─ NotAvailable, WouldBlock, Closed, WrongLoop
 │   ├─ NodeNotFound, NodeInUse, BindRefused, DataDirRefused, KeysRefused
 │   ├─ PublishRefused, StaleSequence
 │   ├─ CircularLoop, UnknownNode, NotConnected, MasterAway, TailBackFull, SiteFull, SiteUnreachable, Expired
 │   ├─ NoHandlers, HandlerLost
 │   └─ NoQueue, QueueFull, QueueExists, QueueInUse, LeaseOver
 ├─ RemoteError         a peer broke the protocol: drop the link, not the program
 │   └─ Refused         a peer said no, with a reason
 ├─ RequestFailed       whoever was asked says that it failed
 ├─ BadContent          a message whose content is not what its reader wants
 ├─ SlowConsumer        a subscription did not keep up, and asked to be told
 ├─ MeshTimeout         nobody answered in time (also a TimeoutError)
 ├─ CoreFailed          a mistake in the mesh itself has ended the node
 └─ StoreError          the disk or database failed; nothing unsaved was acknowledged
     └─ StoreFull
"""

LONGEST_WORD, LONGEST_TEXT = 600, 6000  # characters of an error's text
ONE_MESH = "If it should be of this mesh: mesh token here, mesh join there, and start it again."
OTHER_SITE = "If it is of a linked site, that is as it should be: mesh ls --sites"


class MeshError(Exception):
    """Everything that the mesh raises on purpose.

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
    """A value as it may stand in an error, whatever it is: a number can be too long to be written down."""
    try:
        text = repr(value)
    except Exception:
        text = f"a {type(value).__name__}"
    return text if len(text) <= 40 else f"{text[:40]}..."


def shortened(text: str) -> str:
    """An error's text as it may be shown: of a word, such as a name or key, and of all of it no more than
    somebody reads."""
    if len(text) > LONGEST_WORD:
        words = (_ends(word, LONGEST_WORD) for word in text.split(" "))
        text = _ends(" ".join(words), LONGEST_TEXT)
    return text


def _ends(text: str, most: int) -> str:
    """Beginning and end of what is longer."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}...({len(text) - most:,} more)...{text[-(most // 2) :]}"


class LocalError(MeshError):
    """You asked for something that the mesh does not allow, or not now."""

    code = "LOCAL"


class BadName(LocalError):
    """A node, client or session name that breaks the grammar."""

    code = "BAD_NAME"


class BadKey(LocalError):
    """A key that cannot be published."""

    code = "BAD_KEY"


class BadQuery(LocalError):
    """A subscription or get whose query makes no sense."""

    code = "BAD_QUERY"


class BadPattern(BadQuery):
    """A topic pattern that is empty, or has a wildcard where none can be."""


class BadSelector(BadQuery):
    """A selector that is no expression, or asks for more than a selector can."""

    code = "BAD_SELECTOR"


class BadXPath(BadQuery):
    """An XPath that is none, that asks for more than can be asked here, or that would cost too much."""

    code = "BAD_XPATH"


class BadXml(LocalError):
    """The XML of a key that is malformed, too large, or has what it must not have."""

    code = "BAD_XML"


class BadFilter(LocalError):
    """A filter or mapper of a rule that is not installed, or cannot be what it is told to be."""

    code = "BAD_FILTER"


class BadArgument(LocalError, ValueError):
    """A value that a method or an option does not take; nothing was sent."""

    code = "BAD_ARGUMENT"


class BadType(BadArgument, TypeError):
    """A value of a type that a method or an option does not take; nothing was sent."""


class BadConfig(LocalError):
    """A setting that is unknown, malformed or out of range; names file and place."""

    code = "BAD_CONFIG"


class MessageTooLarge(LocalError):
    """Content above `max-content`; nothing was sent."""

    code = "TOO_LARGE"


class NotAvailable(LocalError):
    """The name is part of the interface, but this release does not carry it out yet."""

    code = "NOT_AVAILABLE"


class WouldBlock(LocalError):
    """The window of unanswered messages is full: await `flush()` and go on."""

    code = "WOULD_BLOCK"


class Closed(LocalError):
    """The client, subscription or node is closed."""

    code = "CLOSED"


class WrongLoop(LocalError):
    """The client is used in another event loop than the one where it was opened, or without any."""

    code = "WRONG_LOOP"


class NodeNotFound(LocalError):
    """No node runs here, or several do and none was chosen."""

    code = "NO_NODE"


class NodeInUse(LocalError):
    """Another live node has this name."""

    code = "NAME_IN_USE"


class BindRefused(LocalError):
    """An address that this node cannot or must not bind."""

    code = "BIND"


class DataDirRefused(LocalError):
    """A data directory that is in use, damaged or not writable."""

    code = "DATA_DIR"


class KeysRefused(LocalError):
    """Keys, or a token for them, that are missing, damaged, too old or not good for this."""

    code = "KEYS"


class PublishRefused(LocalError):
    """A publish that the mesh did not take; `code` says why."""

    code = "REFUSED"


class StaleSequence(PublishRefused):
    """A resend older than what its master remembers: it cannot tell whether it has it."""

    code = "STALE_SEQUENCE"


class CircularLoop(PublishRefused):
    """The rules send a message back to a node where it has been; the text prints the path."""

    code = "CIRCULAR_LOOP"


class UnknownNode(PublishRefused):
    """No node of that name can be reached, and nobody asked to wait for it."""

    code = "UNKNOWN_NODE"


class NotConnected(PublishRefused):
    """The session, or every session of the client, is away, and nobody asked to wait for it."""

    code = "NOT_CONNECTED"


class MasterAway(PublishRefused):
    """The master of a topic cannot be reached now, so nobody can say what it holds."""

    code = "MASTER_AWAY"


class TailBackFull(PublishRefused):
    """So much waits for a master that is away that no more is taken."""

    code = "TAILBACK_FULL"


class SiteFull(PublishRefused):
    """So much waits for another site that no more is taken, where that is so configured."""

    code = "SITE_FULL"


class SiteUnreachable(PublishRefused):
    """Another site that is not known, is down, or to which there is no way now; nothing waits for it."""

    code = "SITE_UNREACHABLE"


class Expired(PublishRefused):
    """The message waited too long: its expiry, or the bound of the queue, has passed."""

    code = "EXPIRED"


class NoHandlers(PublishRefused):
    """Nobody serves that address, as far as can be reached; nothing was done."""

    code = "NO_HANDLERS"


class HandlerLost(PublishRefused):
    """Whoever had the message is gone: perhaps it was done, perhaps not."""

    code = "HANDLER_LOST"


class NoQueue(PublishRefused):
    """No queue of that name is at the node: it was never declared, or was removed."""

    code = "NO_QUEUE"


class QueueFull(PublishRefused):
    """As much waits in the queue as it may hold, so no more is taken."""

    code = "QUEUE_FULL"


class QueueExists(LocalError):
    """The queue was declared before, in another way; the text says what differs."""

    code = "QUEUE_EXISTS"


class QueueInUse(LocalError):
    """At some node the queue is taken from or not empty, or may be, so it was not removed."""

    code = "QUEUE_IN_USE"


class LeaseOver(LocalError):
    """The message is not this consumer's any more: it waits again, or somebody else has it."""

    code = "LEASE_OVER"


class RemoteError(MeshError):
    """A peer broke the protocol: drop the link, not the program."""

    code = "PROTOCOL"


class Refused(RemoteError):
    """A peer said no, with a reason in `code`."""

    code = "REFUSED"


class MeshTimeout(MeshError, TimeoutError):
    """An answer that did not come in time. What was asked for may still be done.

    `ids`: of what `publish` or `send` has sent, and may still arrive; `final` of each tells what became
    of it.
    """

    code = "TIMEOUT"
    ids: tuple[str, ...] = ()


class RequestFailed(MeshError):
    """A request that was answered with a failure: its `code` and `text` are those of whoever was asked."""

    code = "FAILED"

    def __init__(self, text: str, *, hint: str = "", code: str = "") -> None:
        text = str(text)
        said = "".join(c if c.isprintable() else " " for c in text[:4096])
        super().__init__(said or "it failed, and nobody says why.", hint=hint, code=str(code))
        self.text = text


class BadContent(MeshError, ValueError):
    """A content that is not what it says, or not what its reader wants; whoever reads on gets the next one.

    `key` and `sender` of the message, and `place`: where in the value, such as `$.temp` ("$": all of it).
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
    """A subscription with overflow="error" that did not keep up: it has ended, rather than miss messages."""

    code = "SLOW_CONSUMER"


class CoreFailed(MeshError):
    """A mistake in the mesh itself: a change may be half done, so the node has ended."""

    code = "CORE_FAILED"


class StoreError(MeshError):
    """The disk or database failed; nothing unsaved was acknowledged."""

    code = "STORE"


class StoreFull(StoreError):
    """The store has no room; the message was refused and nothing else was lost."""

    code = "STORE_FULL"
