"""What becomes of a message that was taken to wait, and that its master never takes?"""

from __future__ import annotations

from array import array
from typing import NamedTuple

from mesh.core.delivery.bindings import Answered
from mesh.core.delivery.router import Router
from mesh.core.desk.desk import Desk
from mesh.core.desk.disk import Disk
from mesh.errors import MessageTooLarge, RemoteError
from mesh.reserved import DEAD_LETTERS, DEAD_SENDER, OF_MESH, OWNER
from mesh.values import Headers, message_id
from mesh.wire.commands import Answer
from mesh.wire.envelope import PERSISTENT, Envelope
from mesh.wire.properties import NO_PROPERTIES, Properties, decode_properties, encode_properties

MASTER = "its master"  # instead of a receiver, of what never came so far as to have one


class DeadLetters:
    """A publisher of dead letters, each under a key of its own: to be read, subscribed to, and erased."""

    def __init__(self, desk: Desk, disk: Disk, router: Router) -> None:
        self._desk = desk
        self._disk = disk
        self._router = router
        self._stream = desk.ids(16)
        self._number = 0

    def bury(self, envelope: Envelope, answer: Answer, owner: str = "") -> None:
        """Messages `answer.first` to `answer.last` of an envelope. `owner`: whose key the inbox is that they
        were for.
        """
        who, n = envelope.to or MASTER, answer.last - answer.first + 1
        self._desk.losing(who)(envelope, answer.state, min(n, envelope.count))
        with self._disk.together():  # or a crash could take some of them, as they die only once
            for i, number in enumerate(envelope.number_list(range(envelope.count))):
                if answer.first <= number <= answer.last:
                    self._desk.count("dead")
                    self._publish(envelope, i, answer, owner)

    def _publish(self, e: Envelope, i: int, answer: Answer, owner: str) -> None:
        self.publish(self.letter(e, i, answer, owner), lambda answer: None)

    def publish(self, letter: LetterContents, answered: Answered, queue: str = "") -> None:
        """Under a key of its own at this node, or into the queue of that destination here."""
        self._number += 1
        key = letter.key if queue else f"{DEAD_LETTERS}/{letter.name.replace('+', '_').replace('#', '_')}"
        envelope = letter.envelope(self._stream, self._number, key, queue, self._desk.me.name)
        self._router.publish(self._stream, envelope, answered)

    def letter(self, e: Envelope, i: int, answer: Answer, owner: str = "") -> LetterContents:
        """What is left of a message of an envelope."""
        properties, content = e.message(i)
        try:
            own = decode_properties(properties)
        except RemoteError:  # it was never read before
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
            *([("dead-priority", str(e.put[0])), ("dead-group", e.put[2])] if e.put else []),
        ]
        try:
            told = Headers([*headers, *own.headers.items()])
            props = encode_properties(Properties(told, is_text=own.is_text))
        except MessageTooLarge:
            props = encode_properties(Properties(Headers(headers), is_text=own.is_text))
        put = (e.put[0], 0, e.put[2]) if e.put else ()
        return LetterContents(name, e.keys[e.row(i)], props, content, e.flags & PERSISTENT, put)


class LetterContents(NamedTuple):
    """A dead letter: id and key of the message that it was, its properties, content and flags."""

    name: str
    key: str
    props: bytes
    content: bytes
    flags: int
    put: tuple[int, int, str] | tuple[()]  # into a queue, without the delay

    def envelope(self, stream: bytes, number: int, key: str, to: str, node: str, low: int = 0) -> Envelope:
        """As it is published by a node, in the domain of the queue that it is for, if it is for one."""
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
