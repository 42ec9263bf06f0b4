"""What becomes of a client that was opened, and that nobody closes?

It is closed when nobody has it any more, or when its loop ends, whichever comes first: asyncio ends an
asynchronous generator at either, within the loop. A loop that is closed by hand leaves the sockets to
mesh/transport/lifetime.py.
"""

from __future__ import annotations

import warnings
from collections.abc import AsyncGenerator

from mesh.client.shell import Shell


async def closed_in_the_end(shell: Shell) -> AsyncGenerator[None, None]:
    """To be begun when the client is opened, and kept by nobody but the client."""
    try:
        yield
    finally:
        if shell.is_open:
            shell.core.close()
            shell.close()
            warnings.warn(
                f"the client {shell.core.line.name or 'that was just connecting'} was never closed. "
                "Use it inside `async with mesh.connect() as m:`, with mesh.sync inside `with`, or close it.",
                ResourceWarning,
                stacklevel=2,
            )
