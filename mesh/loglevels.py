"""The loggers of the mesh, and the levels that each may have."""

from collections.abc import Mapping

from mesh.errors import BadConfig, LocalError

LEVELS = ("debug", "info", "warning", "error")
LOGGERS = {
    "mesh.node": "start, end and errors of the node",
    "mesh.events": "the events of `mesh events`",
    "mesh.routes": "at debug: the route of each forwarded message, and why",
    "mesh.access": "refused connections and protocol errors",
    "mesh.gossip": "at debug: invalid gossip",
    "mesh.store": "disk and database",
    "mesh.local.segments": "snapshots for the history",
    "mesh.probe": "the file in `node.probe`",
    "mesh.client": "clients in this process",
    "discovery.mdns": "multicast DNS",
}
NODE, EVENTS, ROUTES, ACCESS, GOSSIP = tuple(LOGGERS)[:5]


def check_level(logger: str, level: str) -> None:
    """Raise LocalError for an unknown logger or level. The logger "" means all loggers."""
    for said, known, what in ((logger, ("", *LOGGERS), "logger"), (level, LEVELS, "level")):
        if said not in known:
            hint = f"Use one of {', '.join(filter(None, known))}."
            raise LocalError(f"The {what} {said[:80]!r} does not exist.", hint=hint, code="BAD_ARGUMENT")


def check_levels(levels: Mapping[str, str]) -> None:
    for logger, level in levels.items():
        try:
            check_level(logger or '""', level)
        except LocalError as error:
            raise BadConfig(error.what, hint=error.hint) from error
