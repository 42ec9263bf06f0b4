"""What does a program say on stderr while nodes die? When its connection came and went."""

import sys
import time

import mesh


def tell(text: str) -> None:
    """With the time, on the clock that all share."""
    print(f"{time.monotonic():.6f} {text}", file=sys.stderr, flush=True)


async def tell_events(m: mesh.Client) -> None:
    """Until it is cancelled, or the client is closed."""
    async for event in m.events():
        tell(f"{event.kind}: {event.text}")
