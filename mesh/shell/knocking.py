"""Checks whether a process listens at an address, by a connection attempt."""

import asyncio
import contextlib
import socket
import struct

LIMIT = 0.5  # s; an absent machine does not even refuse


async def is_refused(address: str) -> bool:
    """Return whether nothing listens at the address: the machine refuses, or the ipc file is missing.

    A timeout or another error proves nothing, so the result is then False.
    """
    try:
        async with asyncio.timeout(LIMIT):
            if address.startswith("ipc://"):
                _, writer = await asyncio.open_unix_connection(address.removeprefix("ipc://"))
            else:
                host, _, port = address.removeprefix("tcp://").rpartition(":")
                _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    except (ConnectionRefusedError, FileNotFoundError):
        return True
    except (OSError, ValueError, OverflowError):  # a timeout is an OSError too
        return False
    # Reset instead of close: the other side can tell it from a stranger that aborts a handshake.
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return False
