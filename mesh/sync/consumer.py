"""The consumer of a queue: `with q.consume() as jobs: for job in jobs`.

Generated from mesh/features/queues/client/consumer.py: change that, and type
`tools/generate_sync`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from mesh.client.message import T
from mesh.sync.deliveries import Deliveries
from mesh.sync.delivery import Delivery
from mesh.sync.iterators import ThreadConsumer


class Consumer(ThreadConsumer[T]):
    """A consumer of one queue: `for job in consumer`, or `.batches()`, in one thread at a time.

    A context manager: inside it, messages of the queue are delivered here, as for `mesh.Consumer`.

    Example:
        with q.consume() as jobs:
            for job in jobs:
                with job:
                    print(job.value)
    """

    def close(self) -> None:
        """Stop consuming. Unsettled messages return to the queue."""
        super().close()

    def batches(self) -> Iterator[Deliveries[T]]:
        """Yield messages in the batches in which they arrived. Each message must be settled."""
        return super().batches()

    def ack(self, deliveries: Iterable[Delivery[Any]]) -> None:
        """Acknowledge several deliveries together.

        If some are no longer this consumer's, the others are acknowledged anyway.

        Args:
            deliveries: Unsettled deliveries of this consumer.

        Raises:
            BadType: A delivery did not come from this consumer.
            LocalError: A delivery was settled before, with the code SETTLED. None is acknowledged.
            LeaseOver: A delivery is no longer this consumer's.

        Example:
            jobs.ack(finished)
        """
        super().ack(deliveries)
