"""Starts a node.

Each step is undone if a later one fails, and at the end of the node.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from mesh.config import Config
from mesh.discovery.advertised import Wish
from mesh.discovery.adverts import Adverts
from mesh.discovery.state import Sample
from mesh.kernel.access.authenticator import SOFTWARE
from mesh.kernel.context.component import no_file
from mesh.kernel.feature import Feature
from mesh.kernel.node import NodeCore
from mesh.kernel.parts import Parts
from mesh.local.localnodes import NodeFile
from mesh.local.private import cookie, state_dir
from mesh.security.signing import verify
from mesh.shell.account import begins
from mesh.shell.backing import Backing
from mesh.shell.binding import bind, limits_of
from mesh.shell.crashpoints import CrashPoint, crashpoint
from mesh.shell.driver import Driver
from mesh.shell.event_reporter import EventReporter
from mesh.shell.features import installed
from mesh.shell.finding import Finding, addresses, machine_hosts, wish_of
from mesh.shell.holdings import Holdings, in_time, keys_of, take
from mesh.shell.http.place import bound
from mesh.shell.node import NodeRuntime, process
from mesh.shell.poison import Poison
from mesh.shell.preparing import Preparation, prepared, seeds
from mesh.shell.reloading import Reloading
from mesh.shell.settings import allowance_of, settings_of
from mesh.shell.world import World
from mesh.store.base import NodeStore
from mesh.store.worker import StoreWorker
from mesh.transport import Sockets
from mesh.wire.commands import Introduction
from mesh.wire.metadata import said

log = logging.getLogger("mesh.node")


async def start(
    config: Config,
    environ: Mapping[str, str],
    accept_rollback: bool = False,
    named: Callable[[str], None] = lambda name: None,
    again: Callable[[], Config] | None = None,
) -> NodeRuntime:
    """Acquire the data directory, load the stores, bind, and serve clients and other nodes.

    `accept_rollback` permits a store that lost data. `named` receives the node's name as soon as it is
    known. `again` rereads the configuration; without it the node cannot reload.
    """
    began, loop = time.monotonic(), asyncio.get_running_loop()
    point, state = crashpoint(environ), state_dir(environ)
    features = installed()
    ready = prepared(config, state)
    with ExitStack() as undo:
        teller = EventReporter(loop)
        held, images = take(config, state, ready, accept_rollback, teller, undo)
        named(held.name)
        wish = wish_of(config, held.name, environ)
        secret = held.keys.ring.secrets["node"] if held.keys else cookie(state)
        driver = Driver(
            loop,
            Poison(held.data.path),
            lambda driver: _world(loop, config, held, point, undo, driver),
            lambda world: _core(config, held, world, secret, accept_rollback, teller, features, wish),
        )
        undo.callback(driver.close)
        undo.enter_context(teller.to(driver.events.report_event))
        reload = no_file if again is None else _reloading(config, again, held, driver.world, state)
        sample = partial(_sample, ready, driver)
        described = partial(process, held, driver, began)
        driver.begin(images, described, sample, lambda: held.store.reach, reload, lambda: held.store.is_tight)
        finding = _finding(loop, config, held, secret, driver, undo, wish)
        url = _answer_http(config, ready.token, driver, undo)
        _write_file(config, held, driver.world, state, undo)
        node = NodeRuntime(held, driver, finding, undo.pop_all(), began, url, environ)
        _log_start(config, node, url)
        return node


def _sample(ready: Preparation, driver: Driver) -> Sample:
    return ready.probe.sample(driver.lag.p99(time.monotonic()))


def _log_start(config: Config, node: NodeRuntime, url: str) -> None:
    it, figures = {**node.described(), "cluster": config.node.cluster}, node.core.parts.context.figures()
    addresses = tuple(filter(None, (*it["tcp"], it["ipc"], url)))
    log.info("%s", begins(SOFTWARE, it, addresses, config.node.store, figures))


def _world(
    loop: asyncio.AbstractEventLoop,
    config: Config,
    held: Holdings,
    point: CrashPoint | None,
    undo: ExitStack,
    driver: Driver,
) -> World:
    workers = {name: _worker(name, store, point, driver) for name, store in held.stores.items()}
    held.unowned.pop_all()
    for worker in workers.values():
        undo.callback(in_time, worker.close)
    sockets = Sockets(
        loop,
        driver.on_connected,
        driver.received,
        driver.on_disconnected,
        driver.heard_all,
        held.keys.curve if held.keys else None,
        driver.on_gossip,
        driver.events.stranger,
        failed=driver.on_dial_failed,
        left=driver.on_inbound_closed,
        allowance=allowance_of(config.limits),
    )
    undo.callback(sockets.close)
    bound = bind(sockets, config.node.bind, held.keys is not None, held.data)
    put = point.sender(sockets.send) if point else sockets.send
    backing = Backing(held.data.path, workers, partial(loop.call_soon_threadsafe, driver.backup_ended))
    world = World(
        sockets, bound, put, workers, held.snapshots, driver, backing, held.keys.sites if held.keys else None
    )
    undo.callback(world.close)
    return world


def _worker(name: str, store: NodeStore, point: CrashPoint | None, driver: Driver) -> StoreWorker:
    """Return the worker whose thread owns this store once the worker is started."""
    committed, fetched = partial(driver.stores.committed, name), partial(driver.stores.fetched, name)
    return StoreWorker(point.store(store) if point else store, committed, store.tend, fetched, store.copy)


def _core(
    config: Config,
    held: Holdings,
    world: World,
    secret: bytes,
    accept_rollback: bool,
    teller: EventReporter,
    features: Sequence[Feature[Parts]],
    wish: Wish,
) -> NodeCore:
    keys, data = held.keys, held.data
    address, *also = addresses(world.bound.tcp, config.discovery, wish)
    key = keys.identity if keys else b""
    settings = settings_of(
        config,
        Introduction(
            data.uuid,
            held.name,
            data.boot,
            address,
            tuple(also),
            world.bound.pub,
            key,
            said(config.node.metadata or {}),
        ),
        seeds(config, held.name),
        secret,
        keys.ring if keys else None,
        random.random,
        partial(teller.reporter_of("plug-in"), "warning"),
        data.seal,
        accept_rollback,
    )
    limits = limits_of(config.node.bind, config.node.address_max_connections or {}, world.bound.tcp)
    settings = replace(settings, hosts=machine_hosts, address_connections=limits)
    return NodeCore(Parts(settings, os.urandom, random.random, features))


def _reloading(
    config: Config, again: Callable[[], Config], held: Holdings, world: World, state: Path
) -> Reloading:
    ring = held.keys.ring if held.keys else None
    return Reloading(config, again, ring, lambda new: keys_of(new, state, held.data), world.adopt_sites)


def _finding(
    loop: asyncio.AbstractEventLoop,
    config: Config,
    held: Holdings,
    secret: bytes,
    driver: Driver,
    undo: ExitStack,
    wish: Wish,
) -> Finding:
    keys = held.keys
    sign, secret = (keys.ring.sign, keys.advert) if keys else (None, secret)
    adverts = Adverts(config.node.cluster, secret, sign, _verify)
    bound = driver.world.bound.tcp
    finding = Finding(
        loop, config.discovery, bound, adverts, lambda: driver.core.parts.context.me, driver.events, wish
    )
    undo.callback(finding.stop)
    finding.start()
    return finding


def _answer_http(config: Config, token: str, driver: Driver, undo: ExitStack) -> str:
    """Start the HTTP endpoint and return its address, or "" if there is none."""
    if config.http.listen is None:
        return ""
    from mesh.shell.http.serving import HttpThread  # needs an optional library

    thread = HttpThread(bound(config.http.listen), token, driver.request_state)
    undo.callback(thread.close)
    thread.start()
    return thread.url


def _write_file(config: Config, held: Holdings, world: World, state: Path, undo: ExitStack) -> None:
    file = NodeFile(
        name=held.name,
        uuid=held.data.uuid.hex(),
        boot=held.data.boot,
        pid=os.getpid(),
        ipc=world.bound.ipc,
        tcp=world.bound.tcp[0],
        data=str(held.data.path.absolute()),
        cluster=config.node.cluster,
        keyed=held.keys is not None,
        snapshots=str(held.snapshots_dir) if held.snapshots is not None else "",
    )
    undo.callback(file.delete, state)
    file.write(state)


def _verify(key: bytes, text: bytes, signature: bytes) -> bool:
    return verify(key, signature, text)
