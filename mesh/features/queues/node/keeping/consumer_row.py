"""The stored row of a queue's consumer."""

from __future__ import annotations

from typing import NamedTuple

from mesh.wire.limits import QUEUE_CREDIT

FIXED = -1  # attach number of a client that cannot move


class ConsumerRow(NamedTuple):
    """The row of a consumer."""

    session: str  # name
    credit: int
    attach: int = FIXED  # number of the session's last visit; FIXED: its client cannot move

    @classmethod
    def from_bytes(cls, value: bytes) -> ConsumerRow:
        """Return a row, with limits in place of unreadable numbers; older rows have no attach number."""
        session, credit, attach, *_ = [*value.decode().split("\n"), "", ""]
        return cls(
            session,
            int(credit) if credit.isdecimal() else QUEUE_CREDIT,
            int(attach) if attach.isdecimal() else FIXED,
        )

    def to_bytes(self) -> bytes:
        return "\n".join(map(str, self)).encode()
