"""Deliveries of a queue, settled without an event loop.

Generated from mesh/features/queues/client/delivery.py: change that, and type
`tools/generate_sync`.
"""

from __future__ import annotations

from mesh.client.message import T
from mesh.sync.items import ThreadDelivery


class Delivery(ThreadDelivery[T]):
    """A message delivered by a queue, to be settled once: acked, nacked or rejected.

    A context manager: at the end of the block it acks an unsettled message, or nacks it after an exception.
    Errors are as for `mesh.Delivery`.

    Example:
        for job in jobs:
            with job:
                handle(job.value)
    """

    def ack(self) -> None:  # type: ignore[override]
        """Acknowledge the message: its work is done, and the queue deletes it."""
        return self._loop_thread.run(super().ack)

    def nack(self, *, delay: float = 0.0) -> None:  # type: ignore[override]
        """Return the message to the queue, to be delivered again, unless it has failed too often.

        After the queue's `max_attempts` failed deliveries, the queue dead-letters the message.

        Args:
            delay: Seconds until the redelivery, at least. Default: 0.

        Raises:
            LocalError: The message was settled before; the code is SETTLED.
            LeaseOver: The message is no longer this consumer's.
            BadArgument: The delay is invalid.

        Example:
            job.nack(delay=30)
        """
        return self._loop_thread.run(super().nack, delay=delay)

    def reject(self, reason: str = "") -> None:  # type: ignore[override]
        """Move the message to the dead letters.

        Args:
            reason: The cause, which `mesh dlq ls` shows, in up to 200 characters. Default: none.

        Raises:
            LocalError: The message was settled before; the code is SETTLED.
            LeaseOver: The message is no longer this consumer's.
            BadArgument: The reason is too long.

        Example:
            job.reject("no such invoice")
        """
        return self._loop_thread.run(super().reject, reason)

    def extend(self, seconds: float) -> None:  # type: ignore[override]
        """Extend the lease of the message.

        Args:
            seconds: Time from now until the lease ends.

        Raises:
            LocalError: The message was settled before; the code is SETTLED.
            LeaseOver: The message is no longer this consumer's.
            BadArgument: The time is invalid.

        Example:
            job.extend(600)
        """
        return self._loop_thread.run(super().extend, seconds)
