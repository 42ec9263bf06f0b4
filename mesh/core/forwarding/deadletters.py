"""What becomes of a message that was taken to wait, and that its master never takes?"""

from __future__ import annotations

from array import array

from mesh.core.delivery.router import Router
from mesh.core.desk.desk import Desk
from mesh.core.desk.disk import Disk
from mesh.errors import MessageTooLarge, RemoteError
from mesh.reserved import DEAD_LETTERS, OWNER
from mesh.values import Headers, message_id
from mesh.wire.commands import Answer
from mesh.wire.envelope import PERSISTENT, Envelope
from mesh.wire.properties import Properties, decode_properties, encode_properties


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
        were for."""
        with self._disk.together():  # or a crash could take some of them, as they die only once
            for i, number in enumerate(envelope.number_list(range(envelope.count))):
                if answer.first <= number <= answer.last:
                    self._desk.count("dead")
                    self._publish(envelope, i, answer, owner)

    def _publish(self, e: Envelope, i: int, answer: Answer, owner: str) -> None:
        properties, content = e.message(i)
        try:
            own = decode_properties(properties).headers
        except RemoteError:  # it was never read before
            own = Headers()
        name = message_id(e.stream, e.domain, e.number(i))
        headers = [
            ("dead-code", answer.state),
            ("dead-reason", answer.text),
            ("dead-id", name),
            ("dead-key", e.keys[e.row(i)]),
            ("dead-domain", e.domain),
            ("dead-sender", e.sender),
            ("dead-to", e.to),
            *([(OWNER, owner)] if owner else []),
        ]
        try:
            props = encode_properties(Properties(Headers([*headers, *own.items()])))
        except MessageTooLarge:
            props = encode_properties(Properties(Headers(headers)))
        self._number += 1
        letter = Envelope(
            stream=self._stream,
            domain="",
            first=self._number,
            last=self._number,
            keys=(f"{DEAD_LETTERS}/{name.replace('+', '_').replace('#', '_')}",),
            count=1,
            sizes=len(props) + len(content),
            body=props + content,
            props=array("I", [len(props)]).tobytes(),
            flags=e.flags & PERSISTENT,
            low=self._number,
            sender=f"/node/{self._desk.me.name}/client/__sys__",
        )
        self._router.publish(self._stream, letter, lambda answer: None)
