"""Publishes the dead letters of queues."""

# Law: a message leaves its queue after its dead letter is confirmed, and so on disk if the message is
# persistent. A crash in between repeats the dead letter. A message that dies twice in one queue goes to the
# dead letters of the mesh.

from __future__ import annotations

from collections.abc import Callable

from mesh.errors import RemoteError
from mesh.features.queues.model.part.failed_deliveries import DeadMessages
from mesh.features.queues.node.keeping.queue_sink import QueueSink
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.forwarding.deadletters import DeadLetterContents, DeadLetters
from mesh.names import QUEUE, kind_of
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope
from mesh.wire.properties import decode_properties

WAITS = "FORWARD_WARNING"


class DeadLettering:
    """Publishes the dead letters of queues, and removes each message when its dead letter is confirmed.

    `publish(envelope)` sends a message to the master of its key. `publishers` maps a stream to the callback
    for its answers; this object adds its own stream.
    """

    def __init__(
        self,
        context: NodeContext,
        dead: DeadLetters,
        publish: Callable[[Envelope], None],
        publishers: dict[bytes, Callable[[Answer], None]],
    ) -> None:
        self._stream = b""  # created when needed
        self._context = context
        self._dead = dead
        self._publish = publish
        self._publishers = publishers
        self._number = 0
        self._stuck: list[Callable[[], None]] = []  # retries of dead letters that were refused
        self._sent: dict[int, tuple[DeadLetterContents, Callable[[], None]]] = {}  # unanswered, by number

    def bury(self, queue: QueueSink) -> None:
        """Publish a dead letter for each dead message of a queue."""
        for each in queue.part.failures.take_dead():
            e = each.queued.envelope
            numbers = {n for first, last in each.runs for n in range(first, last + 1)}
            for i, number in enumerate(e.number_list(range(e.count))):
                if number in numbers:
                    self._bury(queue, DeadMessages(each.queued, [(number, number)], each.code, each.text), i)

    def _bury(self, queue: QueueSink, dead: DeadMessages, i: int) -> None:
        e = dead.queued.envelope
        to = "" if _died_here_before(e, i) else queue.part.terms.dead_letter
        letter = self._dead.letter(e, i, Answer(e.domain, e.first, e.last, dead.code, 0, dead.text))

        def gone() -> None:
            self._context.counters.add_count("dead")
            queue.part.failures.buried(dead)
            queue.rows.write_state(queue.name, dead.queued)
            queue.schedule()

        def answered(answer: Answer) -> None:
            if answer.state == "OK":
                gone()
            else:
                self._for_all(letter, gone)

        if not to:
            self._for_all(letter, gone)
        elif kind_of(to) == QUEUE:
            self._dead.publish_letter(letter, answered, to)
        else:
            self._send(letter, to, gone)

    def _for_all(self, letter: DeadLetterContents, gone: Callable[[], None]) -> None:
        """Publish `letter` to the dead letters of the mesh, and retry later if it is refused."""

        def answered(answer: Answer) -> None:
            if answer.state == "OK":
                gone()
            else:
                self._stuck.append(lambda: self._for_all(letter, gone))

        self._dead.publish_letter(letter, answered)

    def try_again(self) -> None:
        """Retry the dead letters of the mesh that were refused."""
        stuck, self._stuck = self._stuck, []
        for each in stuck:
            each()

    def _send(self, letter: DeadLetterContents, key: str, gone: Callable[[], None]) -> None:
        if not self._stream:
            self._stream = self._context.ids(16)
            self._publishers[self._stream] = self._on_answer
        self._number += 1
        self._sent[self._number] = letter, gone
        low = min(self._sent)
        self._publish(letter.envelope(self._stream, self._number, key, "", self._context.me.name, low))

    def _on_answer(self, answer: Answer) -> None:
        """Finish confirmed dead letters, and send refused ones to the dead letters of the mesh."""
        for number in range(answer.first, answer.last + 1):
            if answer.state == WAITS or number not in self._sent:
                continue
            letter, gone = self._sent.pop(number)
            if answer.state == "OK":
                gone()
            else:
                self._for_all(letter, gone)


def _died_here_before(e: Envelope, i: int) -> bool:
    """Return whether message `i` already died in this queue, to prevent an endless loop."""
    properties, _ = e.message(i)
    try:
        return e.to in decode_properties(properties).headers.all("dead-to")
    except RemoteError:  # its headers were not checked before
        return False
