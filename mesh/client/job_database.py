"""The database of a consumer, in which the effects of a job are committed once."""

from __future__ import annotations

from enum import Enum
from typing import Any, Protocol

from mesh.client.core.delivered_envelope import DeliveredEnvelope
from mesh.client.message import Message


class JobStart(Enum):
    """The decision about a job when its block begins."""

    RUN = "run it"
    DONE_BEFORE = "its effects are committed: acknowledge it"
    GIVE_BACK = "return it to the queue"
    REJECT = "dead-letter it: nobody knows whether it was done"


class JobDatabase(Protocol):
    """Begins and ends a transaction of the user's database for each job.

    A job is named by the envelope that delivered it, and its place there.
    """

    async def begin(self, job: Message[Any], of: tuple[DeliveredEnvelope, int], tries: int) -> JobStart:
        """Begin a transaction and insert the inbox row. Raises: LocalError, the driver's error."""

    async def end(self, of: tuple[DeliveredEnvelope, int], is_failed: bool) -> None:
        """Commit, or roll back after a failure. Raises: the driver's error, with nothing committed."""

    def connection(self, of: tuple[DeliveredEnvelope, int]) -> Any:
        """Return the connection of a job whose block is open, else `None`."""

    def is_done(self, of: tuple[DeliveredEnvelope, int]) -> bool:
        """Return whether nothing is to be done for a job whose block is open."""
