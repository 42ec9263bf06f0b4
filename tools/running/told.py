"""Events of a program's connection, on stderr while nodes are killed."""

import sys
import time

import mesh


def tell(text: str) -> None:
    """Print to stderr, with the time of the clock that all processes share."""
    print(f"{time.monotonic():.6f} {text}", file=sys.stderr, flush=True)


async def tell_events(m: mesh.Client) -> None:
    """Print events until cancelled, or until the client is closed."""
    async for event in m.events():
        tell(f"{event.kind}: {event.text}")
