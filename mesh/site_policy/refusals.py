"""Decides which refusals of messages between sites are temporary.

A full buffer or a wrong clock is no reason to lose a message, so the node that keeps it retries at growing
intervals (`mesh.flow.backoff`), together with all later messages of its publisher, in order.
"""

from __future__ import annotations

from mesh.hops import is_foreign
from mesh.remote_names import WAY_LOST

# Refusals that are not final for another site. EXPIRED is not final either, unless the message expired by its
# own expiry time.
FOR_NOW = frozenset({"CLOCK_AHEAD", "TAILBACK_FULL", "INBOX_FULL", "STORE_FULL", "STORE", "SITE_UNREACHABLE"})
# These refusals concern the latest route of a direct message, which may have arrived over another route. A
# missing right or a wrong node name is final.
_OF_ITS_ROUTE = FOR_NOW | {"CIRCULAR_LOOP"}


def is_for_now(sender: str, state: str, to: str = "") -> bool:
    """Return whether the refusal of a message from another site is temporary.

    No node of this site remembers a temporary refusal. For a direct message the result is always False: the
    sending site decides whether to resend it (`goes_again`).
    """
    return state in FOR_NOW and not to and is_foreign(sender)


def goes_again(state: str, may_be_there: bool) -> bool:
    """Return whether an answer with the code `state` is not final, so that a direct message is resent.

    If the message may have arrived before, a refusal because of its latest route is not final.
    """
    return state == WAY_LOST or (may_be_there and state in _OF_ITS_ROUTE)
