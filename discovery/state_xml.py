"""XML form of a node's state."""

from lxml import etree

from mesh.discovery.state import NodeState

_KB = 1000  # bytes: the unit of `ram`


def as_xml(state: NodeState) -> bytes:
    """Return the state as XML: `<clusternode id="heron"><state>…`.

    The `idle` of a core and `idleIndex` are whole percentages. `ram` is in kB, `wall` in ns, `lag`, `p50`,
    `p99` and `up` are in s, and rates are per second.
    """
    root = etree.Element("clusternode", id=state.name)
    place = etree.SubElement(root, "state")
    for core, idle in enumerate(state.cpu):
        etree.SubElement(place, "cpu", id=str(core), idle=f"{idle:.0f}")
    for tag, attributes in _elements(state).items():
        etree.SubElement(place, tag, attributes)
    return etree.tostring(root, encoding="UTF-8", pretty_print=True)


def _elements(state: NodeState) -> dict[str, dict[str, str]]:
    return {
        "ram": {"free": str(state.ram_free // _KB), "total": str(state.ram_total // _KB)},
        "performance": {"idleIndex": f"{100 * (1 - state.load):.0f}", "lag": f"{state.lag:.4f}"},
        "messages": {"published": f"{state.published:.1f}", "delivered": f"{state.delivered:.1f}"},
        "queues": {
            "pending": str(state.pending),
            "tailback": str(state.tailback),
            "stored": str(state.stored),
            "queued": str(state.queued),
            "consumers": str(state.consumers),
        },
        "clients": {"sessions": str(state.sessions), "subscriptions": str(state.subscriptions)},
        "links": {"count": str(state.links)},
        "services": {
            "requested": f"{state.requested:.1f}",
            "p50": f"{state.request_p50:.6f}",
            "p99": f"{state.request_p99:.6f}",
            "failed": f"{state.request_failed:.1f}",
            "served": f"{state.served:.1f}",
        },
        "version": {
            "uuid": state.uuid.hex(),
            "boot": str(state.boot),
            "counter": str(state.counter),
            "wall": str(state.wall),
            "up": f"{state.up:.1f}",
            "software": state.software,
            "insecure": "true" if state.insecure else "false",
        },
    }
