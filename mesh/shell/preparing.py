"""Checks a configuration as far as possible before a node acquires anything.

The start of a node and `mesh config check` both use `prepared`, so both accept the same configurations.
"""

from __future__ import annotations

import asyncio
import importlib
import random
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from mesh.config import Config, addresses
from mesh.config_store import MEMORY
from mesh.discovery.state import Sample
from mesh.errors import DataDirRefused
from mesh.local.addresses import normal
from mesh.local.datadir import kept_identity
from mesh.local.localnodes import check_free, check_node_name, check_original, names_for
from mesh.local.looking import could_open, could_write
from mesh.local.mounts import check_disk
from mesh.local.private import cookie, state_dir
from mesh.security.keyfiles import node_keys
from mesh.security.keyring import node_file
from mesh.shell.binding import bind_all, limits_of, to_bind
from mesh.shell.http.place import bound, check_listen, token_of
from mesh.shell.probe import FileProbe, MachineProbe
from mesh.shell.queuestores import check_places
from mesh.shell.queuestores import look as look_at_queues
from mesh.shell.settings import balancers_of, place
from mesh.store.opening import look
from mesh.transport import Sockets


class Sampler(Protocol):
    """Source of a machine's figures: measurements, or a file in tests. `lag` is the loop's delay in s."""

    def sample(self, lag: float = 0.0) -> Sample: ...


@dataclass(frozen=True, slots=True)
class Preparation:
    """Checked inputs of a start.

    If `data` or `snapshots` is `None`, the default directory is used.
    """

    probe: Sampler
    data: Path | None
    snapshots: Path | None
    has_keys: bool
    token: str  # for metrics over HTTP; "" without HTTP


def prepared(config: Config, state: Path) -> Preparation:
    """Check a configuration as far as possible before a start acquires anything.

    If `http.listen` is set, a missing token for HTTP is created. Raises: BadConfig, BadName, BindRefused,
    KeysRefused and other errors of a start.
    """
    node = config.node
    if node.id is not None:
        check_node_name(node.id)
    passwd = node.passwd or ""
    has_keys = node_file(state, node.cluster, passwd) is not None
    if not has_keys and (state / "cookie").exists():
        cookie(state)
    to_bind(node.bind, has_keys)
    limits_of(node.bind, node.address_max_connections or {})
    seeds(config, _name(config))
    balancers_of(config, random.random, lambda text: None)
    return Preparation(
        probe=FileProbe(Path(node.probe)) if node.probe else MachineProbe(),
        data=place("node.data", node.data) if node.data else None,
        snapshots=place("snapshots.dir", config.snapshots.dir) if config.snapshots.dir else None,
        has_keys=has_keys,
        token=_token(config, state),
    )


def _token(config: Config, state: Path) -> str:
    """Return the token for HTTP, or "". Raises: BadConfig, DataDirRefused, NotAvailable."""
    if config.http.listen is None:
        return ""
    check_listen(config.http.listen)
    importlib.import_module("mesh.metrics.exposition")
    file = config.http.token_file
    return token_of(state, place("http.token_file", file) if file else None)


def seeds(config: Config, me: str) -> tuple[str, ...]:
    """Return the addresses that the node `me` dials. Raises: BindRefused."""
    others = [node for node in config.nodes if node.name != me]
    owners = {address: node.name for node in others for address in (node.address, *node.others)}
    peers = [normal(address, "node.peers") for address in config.node.peers]
    named = [normal(address, f"node {owners[address]}") for address in addresses(config, me)]
    return tuple(dict.fromkeys((*peers, *named)))


def _name(config: Config) -> str:
    return config.node.id or next(names_for(socket.gethostname()))


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The result of `rehearsed`.

    `running` is the node's name if it runs now; its store and addresses are then in use and not tried.
    `complaints` are problems that a start would only log.
    """

    running: str = ""
    complaints: tuple[str, ...] = ()


def rehearsed(config: Config, environ: Mapping[str, str]) -> Rehearsal:
    """Try everything that a start would acquire, and keep nothing except a new token for HTTP.

    Raises: the errors of a start.
    """
    state = state_dir(environ)
    it = prepared(config, state)
    complaints = _complaints(it.snapshots) if config.snapshots.enabled else ()
    name, data = _directory(config, it.data, state)
    if could_open(data):
        return Rehearsal(name, complaints)
    if config.node.id:
        check_free(state, config.node.id)
    if not config.node.allow_network_disk:
        check_disk(data)
    if it.has_keys and (data / "keys.json").exists():
        node_keys(data)
    look(config.node.store, data)
    check_places(config, data)
    identity = kept_identity(data)
    if identity is not None and config.node.store != MEMORY:
        check_original(state, identity[0], data)
    look_at_queues(config, data, identity[0] if identity else None)
    asyncio.run(_bind(config, it.has_keys))
    if config.http.listen is not None:
        bound(config.http.listen).close()
    return Rehearsal("", complaints)


def _directory(config: Config, given: Path | None, state: Path) -> tuple[str, Path]:
    """Return the name and the data directory that the node would use, as `pick_name` does."""
    names = names_for(socket.gethostname())
    name = config.node.id or next(names)
    while not (config.node.id or given) and could_open(state / "data" / name):
        name = next(names)
    return name, (given or state / "data" / name).absolute()


def _complaints(snapshots: Path | None) -> tuple[str, ...]:
    try:
        if snapshots is not None:
            could_write(snapshots.absolute())
    except DataDirRefused as error:
        return (f"snapshots would not be written: {error.what}",)
    return ()


async def _bind(config: Config, has_keys: bool) -> None:
    """Check that the addresses can be bound, and release them."""
    loop = asyncio.get_running_loop()
    sockets = Sockets(loop, lambda *_: None, lambda *_: None, lambda key: None, lambda: None)
    try:
        bind_all(sockets, config.node.bind, has_keys, None)
    finally:
        sockets.close()
