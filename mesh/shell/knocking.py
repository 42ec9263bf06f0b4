"""Does anybody listen at an address? Asked of the operating system there, which knows at once."""

import asyncio
import contextlib
import socket
import struct

LIMIT = 0.5  # s; a machine that is gone does not even refuse


async def is_refused(address: str) -> bool:
    """True only if the machine is there and says that nobody listens: a timeout says nothing."""
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
    # Reset, not closed: so that it is told apart there from a stranger who gave up during a handshake.
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return False
