"""Closes a client that was opened and never closed.

The client is closed when it is no longer referenced or when its loop ends, whichever comes first: asyncio
closes an asynchronous generator in both cases, inside the loop. For a loop that is closed by hand,
mesh/transport/lifetime.py closes the sockets.
"""

from __future__ import annotations

import warnings
from collections.abc import AsyncGenerator

from mesh.client.shell import Shell


async def closed_in_the_end(shell: Shell) -> AsyncGenerator[None, None]:
    """Close the client, with a warning, if it is still open when this generator ends.

    Only the client may refer to the generator.
    """
    try:
        yield
    finally:
        if shell.is_open:
            shell.core.close()
            shell.close()
            warnings.warn(
                f"the client {shell.core.line.name or 'that was just connecting'} was never "
                "closed. Use it inside `async with mesh.connect() as m:` (with mesh.sync: "
                "`with`), or close it.",
                ResourceWarning,
                stacklevel=2,
            )
