"""Choice between two connections after both sides dialed at the same moment."""

from mesh.errors import RemoteError


def keep_mine(my_uuid: bytes, peer_uuid: bytes, i_dialled: bool) -> bool:
    """Return whether to keep this connection: of two that work, the one dialed by the lower uuid stays.

    Both sides reach the same answer without a message. Compare boots first: a connection with an earlier boot
    of the peer does not work. Raises RemoteError if the peer has this node's own uuid.
    """
    if my_uuid == peer_uuid:
        raise RemoteError(
            f"The peer has the uuid of this node, {my_uuid.hex()}: the node dialed itself, or "
            "two nodes run on copies of one data directory.",
            hint="Give the copied node its own data directory: mesh up --data DIR.",
            code="SAME_UUID",
        )
    return i_dialled == (my_uuid < peer_uuid)
