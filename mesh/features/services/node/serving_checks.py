"""Checks of what a client says about the addresses that it serves."""

from __future__ import annotations

from collections.abc import Sequence

from mesh.errors import BadArgument, LocalError, RemoteError
from mesh.names import SessionName, address_text, check_address, check_group, is_group
from mesh.printable import count
from mesh.wire.commands import Consume, Settle
from mesh.wire.envelope import Envelope
from mesh.wire.limits import ADDRESS_CREDIT


def check_registration(command: Consume) -> None:
    """Raise LocalError for a registration that no address accepts."""
    address = command.address
    if is_group(address):
        check_group(address)
    else:
        check_address(address)
    if command.credit > ADDRESS_CREDIT:
        what = f"The credit {command.credit:,} is too large."
        raise BadArgument(what, hint=f"The limit is {ADDRESS_CREDIT:,}.")
    if command.selector or command.lease or command.held:
        what = "Only the consumer of a queue can have a selector, a lease or held messages"
        raise BadArgument(f"{what}, not that of {address_text(address)}.")


def check_count(session: SessionName, used: int, most: int) -> None:
    """Raise LocalError with TOO_MANY_ADDRESSES if a session has as many registrations as it may have."""
    if used >= most:
        what = f"{session} has {count(used, 'registration')} of services or groups"
        hint = "Serve fewer addresses, or raise `limits.session_subscriptions` of the node."
        raise LocalError(f"{what}; the limit is {most:,}.", hint=hint, code="TOO_MANY_ADDRESSES")


def check_replies(command: Settle, envelopes: Sequence[Envelope]) -> None:
    """Raise RemoteError unless the envelopes are the replies that a settlement announces."""
    replies = sum(e.count for e in envelopes)
    if len(envelopes) > 1 or replies != len(command.replied):
        what = f"{replies} replies were sent, but {len(command.replied)} were announced"
        if len(envelopes) > 1:
            what = f"the replies were sent in {len(envelopes)} envelopes; the limit is 1"
        raise RemoteError(what, code="MALFORMED")


def check_settlement(command: Settle, address: str) -> None:
    """Raise RemoteError for a settlement that only a queue accepts."""
    if command.request or command.entries:
        what = f"{address_text(address)} is not a queue, but was settled like one"
        raise RemoteError(what, code="MALFORMED")
