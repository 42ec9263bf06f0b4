"""Lists the nodes that announce themselves by multicast DNS, without an announcement of its own.

Importing this module does not load zeroconf.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from mesh.discovery.adverts import Advert, Adverts, Near, Rejected

SECONDS = 1.0  # s in which nodes can answer
MOST = 32  # nodes


def browse(adverts: Adverts, interfaces: Sequence[str] = (), seconds: float = SECONDS) -> list[Advert | Near]:
    """Return the nodes that announce themselves on `interfaces`, or on all; unproven ones as Near.

    Blocks for `seconds`, in an event loop of its own. Raises: an error of zeroconf or of the system.
    """
    from mesh.discovery.multicast import look_around  # late: zeroconf takes long to load

    found: dict[tuple[str, str], Advert | Near] = {}

    def keep(told: Advert | Rejected | Near) -> None:
        if not isinstance(told, Rejected) and len(found) < MOST:
            found[told.name, "" if isinstance(told, Advert) else told.address] = told

    asyncio.run(look_around(adverts, interfaces, seconds, keep))
    return list(found.values())
