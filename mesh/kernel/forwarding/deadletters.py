"""Dead letters: republishes messages that could not be delivered, with the reason in their headers."""

from __future__ import annotations

from array import array
from typing import NamedTuple

from mesh.errors import MessageTooLarge, RemoteError
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.delivery.durable_bindings import Answered
from mesh.kernel.delivery.router import Router
from mesh.printable import count
from mesh.reserved import DEAD_LETTERS, DEAD_SENDER, OF_MESH, OWNER
from mesh.values import Headers, message_id
from mesh.wire.commands import Answer
from mesh.wire.envelope import PERSISTENT, Envelope
from mesh.wire.properties import NO_PROPERTIES, Properties, decode_properties, encode_properties

MASTER = "its master"  # the receiver of a message that no master accepted


class DeadLetters:
    """Publishes dead letters: under their own keys, to be read or erased like any topic, or into a queue."""

    def __init__(self, context: NodeContext, disk: Disk, router: Router) -> None:
        self._context = context
        self._disk = disk
        self._router = router
        self._stream = context.ids(16)
        self._number = 0

    def publish_refused(
        self, envelope: Envelope, answer: Answer, owner: str = "", is_joint: bool = False
    ) -> None:
        """Republish the messages `answer.first` to `answer.last` of an envelope, with the reason.

        `owner` is the key whose inbox the messages were addressed to, or "". The messages also count as lost.
        `is_joint` means that a committed transaction contains them, which is an event.
        """
        who, n = envelope.to or MASTER, answer.last - answer.first + 1
        self._context.counters.loss_counter(who)(envelope, answer.state, min(n, envelope.count))
        with self._disk.together():  # a crash keeps all of them or none
            for i, number in enumerate(envelope.number_list(range(envelope.count))):
                if answer.first <= number <= answer.last:
                    self._context.counters.add_count("dead")
                    letter = self.letter(envelope, i, answer, owner, is_joint)
                    self.publish_letter(letter, lambda answer: None)
        if is_joint:
            what = (
                f"{envelope.sender}: {count(n, 'message')} of a committed transaction did not reach {who}: "
            )
            self._context.event("transaction", what + answer.text, level="warning")

    def publish_letter(self, letter: DeadLetterContents, answered: Answered, queue: str = "") -> None:
        """Publish a dead letter under its own key at this node, or into the queue named `queue`.

        `answered` is called with the answer.
        """
        self._number += 1
        key = letter.key if queue else f"{DEAD_LETTERS}/{letter.name.replace('+', '_').replace('#', '_')}"
        envelope = letter.envelope(self._stream, self._number, key, queue, self._context.me.name)
        self._router.publish_here(self._stream, envelope, answered)

    def letter(
        self, e: Envelope, i: int, answer: Answer, owner: str = "", is_joint: bool = False
    ) -> DeadLetterContents:
        """Return the contents to republish for message `i` of an envelope, with headers about the failure.

        The headers of the message are left out if they cannot be read, or if all headers together are too
        large.
        """
        properties, content = e.message(i)
        try:
            own = decode_properties(properties)
        except RemoteError:  # never decoded before
            own = NO_PROPERTIES
        name = message_id(e.stream, e.domain, e.number(i))
        headers = [
            ("dead-code", answer.state),
            ("dead-reason", answer.text),
            ("dead-id", name),
            ("dead-key", e.keys[e.row(i)]),
            ("dead-domain", e.domain),
            (DEAD_SENDER, e.sender),
            ("dead-to", e.to),
            *([(OWNER, owner)] if owner else []),
            *([("dead-transaction", "committed")] if is_joint else []),
            *([("dead-priority", str(e.put[0])), ("dead-group", e.put[2])] if e.put else []),
        ]
        try:
            told = Headers([*headers, *own.headers.items()])
            props = encode_properties(Properties(told, is_text=own.is_text))
        except MessageTooLarge:
            props = encode_properties(Properties(Headers(headers), is_text=own.is_text))
        put = (e.put[0], 0, e.put[2]) if e.put else ()
        return DeadLetterContents(name, e.keys[e.row(i)], props, content, e.flags & PERSISTENT, put)


class DeadLetterContents(NamedTuple):
    """A message to republish: the original id and key, properties, content, flags and queue terms."""

    name: str
    key: str
    props: bytes
    content: bytes
    flags: int
    put: tuple[int, int, str] | tuple[()]  # terms for a queue, without the delay

    def envelope(self, stream: bytes, number: int, key: str, to: str, node: str, low: int = 0) -> Envelope:
        """Return the envelope to publish, in the domain of the queue `to`, or in none if `to` is empty."""
        return Envelope(
            stream=stream,
            domain=to,
            first=number,
            last=number,
            keys=(key,),
            count=1,
            sizes=len(self.props) + len(self.content),
            body=self.props + self.content,
            props=array("I", [len(self.props)]).tobytes(),
            flags=self.flags,
            low=low or number,
            sender=f"/node/{node}{OF_MESH}",
            to=to,
            put=self.put if to else (),
        )
