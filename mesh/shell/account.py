"""Log lines for the start and the end of a node."""

from collections.abc import Mapping, Sequence

AccountFigures = Mapping[str, int | float]
WAITS = (
    ("pending", "for subscribers"),
    ("queue_messages", "in queues"),
    ("tailed_back", "for unreachable masters"),
)


def waiting(figures: AccountFigures) -> str:
    """Return how many messages wait at a node, and for what, or "nothing"."""
    found = [f"{figures[name]:,} {where}" for name, where in WAITS if figures.get(name)]
    return ", ".join(found) or "nothing"


def begins(
    software: str, it: Mapping[str, object], addresses: Sequence[str], store: str, figures: AccountFigures
) -> str:
    """Return the log line for the start of a node.

    `it` has name, uuid, boot and cluster.
    """
    return (
        f"node {it['name']!r} begins: {software}, boot {it['boot']}, id {it['uuid']!s:.8}, "
        f"cluster {it['cluster']!r}, at {', '.join(addresses)}, store {store}, waiting: {waiting(figures)}"
    )


def ends(name: str, seconds: float, figures: AccountFigures) -> str:
    """Return the log line for the end of a node, after `seconds`."""
    return (
        f"node {name!r} ends after {seconds:,.0f} s: published {figures['client_published']:,}, "
        f"delivered {figures['delivered']:,}, waiting: {waiting(figures)}"
    )
