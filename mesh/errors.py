"""The exceptions of the mesh.

MeshError
 ├─ LocalError          the mesh does not allow this call, or not in the present state
 │   ├─ BadName, BadKey, BadQuery (BadPattern, BadSelector, BadXPath), BadArgument (BadType)
 │   ├─ BadConfig, BadFilter, BadXml, FeatureFailed
 │   ├─ MessageTooLarge, NotAvailable, WouldBlock, Closed, WrongLoop
 │   ├─ NodeNotFound, NodeInUse, BindRefused, DataDirRefused, KeysRefused
 │   ├─ PublishRefused      a refused message or call
 │   │   ├─ StaleSequence, CircularLoop, UnknownNode, NotConnected, MasterAway, Expired
 │   │   ├─ TailBackFull, SiteFull, SiteUnreachable
 │   │   └─ NoHandlers, HandlerLost, NoQueue, QueueFull
 │   └─ UnknownName, QueueExists, QueueInUse, LeaseOver
 ├─ RemoteError         a peer broke the protocol: close the link, not the program
 │   └─ Refused         a peer refused, with a reason
 ├─ TransactionRefused  nothing of a transaction has happened
 ├─ InDoubt             all of a transaction may have happened, or nothing
 ├─ RequestFailed       a request that was answered with a failure
 ├─ BadContent          content that does not match its type
 ├─ SlowConsumer        a subscription with overflow="error" did not keep up
 ├─ MeshTimeout         no answer in time (also a TimeoutError)
 ├─ CoreFailed          a bug in the mesh itself has stopped the node
 └─ StoreError          the disk or database failed; nothing unsaved was acknowledged
     └─ StoreFull
"""

from mesh.shortening import shortened

ONE_MESH = "If it should be in this mesh: `mesh token` here, `mesh join` there, then restart it."
OTHER_SITE = "If it belongs to a linked site, this is expected: `mesh ls --sites`."


class MeshError(Exception):
    """Base class of all deliberate errors of the mesh.

    The text says what happened, where, the likely reason and what to type next. `code` is stable, for
    programs and for looking it up in the docs. A subclass sets it with `code=` in its class statement.
    """

    code: str = "MESH"

    def __init_subclass__(cls, *, code: str = "") -> None:
        super().__init_subclass__()
        cls.code = code or cls.code

    def __init__(self, what: str, *, hint: str = "", code: str = "") -> None:
        self.what: str = shortened(what)
        super().__init__(self.what)
        self.hint: str = shortened(hint)
        if code:
            self.code = code

    def __str__(self) -> str:
        hint = f" {self.hint}" if self.hint else ""
        return f"{self.what}{hint} [{self.code}]"


class LocalError(MeshError, code="LOCAL"):
    """The mesh does not allow this call, or does not allow it in the present state."""


class BadName(LocalError, code="BAD_NAME"):
    """A name that breaks the grammar: of a node, client, session, address or queue, or a message id."""


class BadKey(LocalError, code="BAD_KEY"):
    """An invalid key or domain."""


class BadQuery(LocalError, code="BAD_QUERY"):
    """An invalid query, or a call that cannot be made now, such as opening an inbox twice."""


class BadPattern(BadQuery):
    """A topic pattern that is empty, or has a misplaced wildcard."""


class BadSelector(BadQuery, code="BAD_SELECTOR"):
    """An invalid selector."""


class BadXPath(BadQuery, code="BAD_XPATH"):
    """An XPath that is invalid, not supported, or too expensive."""


class BadXml(LocalError, code="BAD_XML"):
    """A key's XML is malformed, too large, or contains forbidden constructs."""


class BadFilter(LocalError, code="BAD_FILTER"):
    """A filter or mapper of a rule that is not installed, or has an invalid argument."""


class FeatureFailed(LocalError, code="FEATURE"):
    """A feature that cannot be loaded or built, so the node does not start; the text names it."""


class BadArgument(LocalError, ValueError, code="BAD_ARGUMENT"):
    """An invalid value of an argument or option."""


class BadType(BadArgument, TypeError):
    """An argument or option of an invalid type."""


class BadConfig(LocalError, code="BAD_CONFIG"):
    """A setting that is unknown, malformed or out of range; the text says where."""


class MessageTooLarge(LocalError, code="TOO_LARGE"):
    """Content above `limits.max_content`; this message was not sent."""


class NotAvailable(LocalError, code="NOT_AVAILABLE"):
    """A function that this release, the node's release or this environment does not support."""


class WouldBlock(LocalError, code="WOULD_BLOCK"):
    """The window of unanswered messages is full: await `flush()` and continue."""


class Closed(LocalError, code="CLOSED"):
    """A client, subscription, consumer, service or node that is closed, or is not open yet."""


class WrongLoop(LocalError, code="WRONG_LOOP"):
    """The client is used outside the event loop where it was opened, or opened without one."""


class NodeNotFound(LocalError, code="NO_NODE"):
    """The node was not found or did not answer, or several nodes run here and none was selected."""


class NodeInUse(LocalError, code="NAME_IN_USE"):
    """Another running node already has this name or identity."""


class BindRefused(LocalError, code="BIND"):
    """An address to which this node cannot or must not bind."""


class DataDirRefused(LocalError, code="DATA_DIR"):
    """A data directory, or another file of the mesh, that is in use, damaged or not accessible."""


class KeysRefused(LocalError, code="KEYS"):
    """Keys, or a token for them, that are missing, damaged, expired or not valid here."""


class PublishRefused(LocalError, code="REFUSED"):
    """A refused message or call; `code` has the reason."""


class StaleSequence(PublishRefused, code="STALE_SEQUENCE"):
    """A resent message that is older than its master's records, so it may be a duplicate."""


class CircularLoop(PublishRefused, code="CIRCULAR_LOOP"):
    """A routing loop: the rules send a message back to a node that it has passed; the text has the path."""


class UnknownNode(PublishRefused, code="UNKNOWN_NODE"):
    """No node of that name can be reached."""


class NotConnected(PublishRefused, code="NOT_CONNECTED"):
    """The session, or every session of the client, is disconnected."""


class MasterAway(PublishRefused, code="MASTER_AWAY"):
    """The master of a topic cannot be reached, so its value is unknown."""


class TailBackFull(PublishRefused, code="TAILBACK_FULL"):
    """The outbound buffer for unreachable masters is full."""


class SiteFull(PublishRefused, code="SITE_FULL"):
    """The buffer for another site is full, and `when_full` is "reject"."""


class SiteUnreachable(PublishRefused, code="SITE_UNREACHABLE"):
    """Another site is unknown, down or not linked; the message does not wait for it."""


class Expired(PublishRefused, code="EXPIRED"):
    """The message waited beyond its expiry, or beyond a limit."""


class NoHandlers(PublishRefused, code="NO_HANDLERS"):
    """No reachable client serves that address; the request was not delivered."""


class HandlerLost(PublishRefused, code="HANDLER_LOST"):
    """The service or node that had the request was lost; the request may have run."""


class NoQueue(PublishRefused, code="NO_QUEUE"):
    """The node has no queue of that name.

    The queue was never declared, was deleted, or exists only at another node.
    """


class QueueFull(PublishRefused, code="QUEUE_FULL"):
    """The queue is full."""


class UnknownName(LocalError, code="UNKNOWN_NAME"):
    """No node, client, session, address, queue or site has the name, as far as the asked node knows."""


class QueueExists(LocalError, code="QUEUE_EXISTS"):
    """The queue was declared before with other options; the text shows the difference."""


class QueueInUse(LocalError, code="QUEUE_IN_USE"):
    """The queue was not deleted, because it has, or may have, messages or a consumer at some node."""


class LeaseOver(LocalError, code="LEASE_OVER"):
    """The message no longer belongs to this consumer; another one may have it."""


class RemoteError(MeshError, code="PROTOCOL"):
    """A peer broke the protocol: close the link, not the program."""


class Refused(RemoteError, code="REFUSED"):
    """A peer refused, with a reason in `code`."""


class MeshTimeout(MeshError, TimeoutError, code="TIMEOUT"):
    """No answer in time. The operation may still succeed.

    `ids` names the messages that were sent and may still arrive; `final(id)` returns the outcome of each.
    """

    ids: tuple[str, ...] = ()


class TransactionRefused(MeshError, code="REFUSED"):
    """The node refused a transaction; nothing of it has happened.

    `code` is that of the refused operation, and `operation` its index in the order of the calls; -1: all
    together.
    """

    operation: int = -1


class InDoubt(MeshError, code="IN_DOUBT"):
    """The outcome of a transaction is not known: all of it may have happened, or nothing."""


class RequestFailed(MeshError, code="FAILED"):
    """A request that was answered with a failure; `code` and `text` come from the service."""

    def __init__(self, text: str, *, hint: str = "", code: str = "") -> None:
        text = str(text)
        said = "".join(c if c.isprintable() else " " for c in text[:4096])
        super().__init__(said or "The request failed without a reason.", hint=hint, code=str(code))
        self.text = text


class BadContent(MeshError, ValueError, code="BAD_CONTENT"):
    """Content that does not match its type or the reader's type; the next read continues.

    `key` and `sender` are those of the message. `place` is the invalid part, such as `$.temp`; `$` is all.
    """

    def __init__(
        self, what: str, *, key: str = "", sender: str = "", place: str = "$", hint: str = "", code: str = ""
    ) -> None:
        super().__init__(what, hint=hint, code=code)
        self.key: str = key
        self.sender: str = sender
        self.place: str = place


class SlowConsumer(MeshError, code="SLOW_CONSUMER"):
    """A subscription with overflow="error" that did not keep up, and was ended to avoid a gap."""


class CoreFailed(MeshError, code="CORE_FAILED"):
    """A bug in the mesh itself: a change may be half done, so the node has stopped."""


class StoreError(MeshError, code="STORE"):
    """The disk or database failed; nothing unsaved was acknowledged."""


class StoreFull(StoreError, code="STORE_FULL"):
    """The store has no space; the message was refused, and no other message was lost."""
