"""Both sides dialled at the same moment: which of the two connections stays?"""

from mesh.errors import RemoteError


def keep_mine(my_uuid: bytes, peer_uuid: bytes, i_dialled: bool) -> bool:
    """Whether this connection stays, where a pair has two that work: the one that the lower uuid dialled.

    Both sides come to the same answer without a word between them. Compare boots first: a connection
    with an earlier boot of the peer does not work and takes no part. Raises RemoteError if the peer
    shows our own uuid.
    """
    if my_uuid == peer_uuid:
        raise RemoteError(
            f"a peer shows our own uuid {my_uuid.hex()}: we dialled ourselves, or two nodes run on copies of "
            "one data directory.",
            hint="Give the copied node a data directory of its own: mesh up --data DIR.",
            code="SAME_UUID",
        )
    return i_dialled == (my_uuid < peer_uuid)
