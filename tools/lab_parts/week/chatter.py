"""A client that publishes messages without subscribers to the master of DOMAIN, to fill the logs.

python -m tools.lab_parts.week.chatter NODE DOMAIN RATE
"""

import asyncio
import signal
import sys
from contextlib import suppress

import mesh
from mesh.errors import MeshError


async def main(node: str, domain: str, rate: str) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with mesh.connect(node) as m:
        while not stop.is_set():
            with suppress(MeshError):
                m.post("chatter", b"", domain=domain)
            await asyncio.sleep(1 / int(rate))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
