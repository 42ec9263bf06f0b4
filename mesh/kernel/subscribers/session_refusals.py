"""The refusals of clients that claim a session or open a new one."""

from __future__ import annotations

from mesh.errors import BadName
from mesh.kernel.subscribers.session import Session
from mesh.names import SessionName
from mesh.patterns import SYSTEM
from mesh.printable import count
from mesh.wire.commands import Refuse


def wrong_token(name: SessionName) -> Refuse:
    text = f"this client has no valid token for {name}"
    hint = "If the name, cookie or keys of the node have changed: close the client and open it again."
    return Refuse("BAD_TOKEN", text, hint, final=True)


def busy(holder: Session) -> Refuse:
    """Return the refusal of a claim whose holder has work and does not answer: it may be dead, or blocked."""
    text = f"{holder.name} is open elsewhere, is busy and does not answer"
    hint = "Its program may be blocked or stopped: end it, or choose another session number."
    return Refuse("SESSION_IN_USE", text, hint)


def in_use(holder: Session) -> Refuse:
    """Return the final refusal of a claim to a session that belongs to a living holder or to another key."""
    if holder.conn is None:
        text = f"{holder.name} belongs to another client, which is disconnected"
        hint = "Choose another name or session number, or wait until that session expires."
        return Refuse("SESSION_IN_USE", text, hint, final=True)
    hint = "Close the other client, or choose another session number."
    return Refuse("SESSION_IN_USE", f"{holder.name} is open elsewhere", hint, final=True)


def elsewhere(name: SessionName) -> Refuse:
    """Return the final refusal of a claim to a session whose client is at another node."""
    hint = "Close the other client, or choose another session number."
    return Refuse("SESSION_IN_USE", f"{name} is open at another node", hint, final=True)


def moved_on(name: SessionName) -> Refuse:
    return Refuse("MOVED", f"{name} has moved on to another node since it sent this HELLO")


def copied(session: Session) -> Refuse:
    """Return the final refusal of a client whose session has moved on without it."""
    text = f"{session.name} is open at another node with the same stream key"
    hint = "This program is a copy of another one, as in a cloned machine. Connect anew in each of them."
    return Refuse("SESSION_IN_USE", text, hint, final=True)


def too_many_of_key(used: int, most: int, node: str) -> Refuse:
    """Return the refusal of a client whose key has `used` sessions at the node, and may have `most`."""
    what = f"the key of this client has {count(used, 'session')} at {node}; the limit is {most:,}"
    hint = "Close some sessions, or raise `limits.key_sessions` of the node."
    return Refuse("TOO_MANY_SESSIONS", what, hint)


def too_many(used: int, most: int) -> Refuse:
    what = f"this node has {used:,} sessions, and the limit is {most:,}"
    hint = "Close some sessions, or raise `limits.sessions` of the node."
    return Refuse("TOO_MANY_SESSIONS", what, hint)


def negative_number(name: SessionName) -> Refuse:
    text = f"{name} has a negative session number, which only the node can assign"
    return Refuse("BAD_NAME", text, "Choose a session number from 1, or none.", final=True)


def check_free(client: str, is_node: bool) -> None:
    """Raise BadName if clients must not have this name. With `is_node`, a node has it."""
    if is_node or client.startswith(SYSTEM):
        reserved = f"begins with {SYSTEM}, which is reserved for the mesh"
        why = "is the name of a node" if is_node else reserved
        raise BadName(f"{client!r} {why}.", hint="Choose another name: client=NAME, or --client NAME.")
