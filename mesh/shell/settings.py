"""Builds the core's settings from the configuration and from facts found at the start."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from mesh.balancers.base import Balancer
from mesh.balancers.guarded import Guarded
from mesh.balancers.plugins import BadBalancer, named
from mesh.config import Config, Limits, balancing_options, rules
from mesh.config_store import MEMORY
from mesh.errors import BadConfig
from mesh.features.sites.model.ways import ways
from mesh.kernel.context.settings import Keyring, LinkTime, Settings
from mesh.local.addresses import normal
from mesh.security.signing import verify
from mesh.shell.watchdog import WatchedStrategy
from mesh.site_policy.accepting import Accepting
from mesh.site_policy.selection import Selection
from mesh.site_policy.site_settings import SiteSettings
from mesh.transport.guard import Allowance
from mesh.values import check_path
from mesh.wire.commands import Introduction


def settings_of(
    config: Config,
    me: Introduction,
    seeds: tuple[str, ...],
    secret: bytes,
    keyring: Keyring | None,
    jitter: Callable[[], float],
    tell: Callable[[str], None],
    seal: bytes = b"",
    accept_rollback: bool = False,
) -> Settings:
    """Return the settings of the core.

    `secret` is the user's cookie, or with keys the secret of the role "node". `jitter` returns random numbers
    in [0, 1), and `tell` receives warnings about slow plug-ins. For `seal` see Settings.
    """
    node, limits, timing = config.node, config.limits, config.timing
    balancers = balancers_of(config, jitter, tell)
    return Settings(
        me=me, cluster=node.cluster, secret=secret, keyring=keyring, seeds=seeds, seal=seal,
        verify=verify, accept_rollback=accept_rollback,
        max_content=limits.max_content, transaction_bytes=limits.transaction_bytes,
        prepared_warning=limits.prepared_warning,
        window_bytes=limits.window_bytes, window_count=limits.window_count,
        backlog_bytes=limits.backlog_bytes, topics_bytes=limits.topics_bytes,
        max_connections=max_connections(config), max_key_connections=limits.key_connections,
        max_sessions=limits.sessions,
        max_key_sessions=limits.key_sessions,
        max_subscriptions=limits.session_subscriptions, max_all_subscriptions=limits.subscriptions,
        linger=limits.linger, peer_linger=60 * limits.linger, slow_consumer=limits.slow_consumer,
        ping=timing.ping, silence=timing.silence, busy=timing.busy,
        probe=timing.probe, state=timing.state, queue_reports=timing.queues,
        backoff_min=timing.backoff_min, backoff_max=timing.backoff_max,
        of_nodes=own_times(config), seed_names=seed_names(config),
        scope=config.default_scope, links=config.links, known=tuple(record.name for record in config.nodes),
        rules=rules(config), remember=config.discovery.remember,
        balancer=balancers.usual, domain_balancers=balancers.domains, address_balancers=balancers.addresses,
        patience=timing.forward_patience, tailback_bytes=limits.tailback_bytes,
        memory_bytes=limits.memory_bytes, stores=tuple((one.name, one.store) for one in config.queues),
        inboxes_bytes=limits.inboxes_bytes, sessions_bytes=limits.sessions_bytes,
        durable_bytes=limits.durable_bytes, durable_full=limits.durable_full,
        volatile=frozenset((MEMORY, "") if node.store == MEMORY else (MEMORY,)),
        snapshots=config.snapshots.interval if config.snapshots.enabled else 0.0,
        tailback_count=limits.tailback_count, tailback_ttl=limits.tailback_ttl, site=site_settings(config),
        nameservice=node.nameservice, adopts_parents=node.adopt_parents,
        disconnects=frozenset(record.name for record in config.nodes if record.disconnect),
    )  # fmt: skip


def own_times(config: Config) -> dict[str, dict[LinkTime, float]]:
    """Return the times of the connections to single nodes that differ from [timing], by name of the node."""
    names: dict[str, LinkTime] = {
        "ping": "ping",
        "backoff_min": "backoff_min",
        "backoff_max": "backoff_max",
        "forward_patience": "patience",
    }
    timed = (record for record in config.nodes if record.times)
    return {record.name: {names[n]: value for n, value in record.times.items()} for record in timed}


def seed_names(config: Config) -> dict[str, str]:
    """Return the names of the configured nodes by address."""
    given = ((record.name, (record.address, *record.others)) for record in config.nodes)
    return {
        normal(address, f"node {name}"): name for name, at in given for address in at if address is not None
    }


def site_settings(config: Config) -> SiteSettings:
    """Return the core's settings for other sites."""
    return SiteSettings(
        name=config.site.name or "",
        is_relay=config.site.relay,
        relays=config.site.relays,
        addresses={site.name: site.addresses for site in config.sites if not site.via},
        ways=ways({site.name: site.via for site in config.sites}),
        selection=Selection.of(config.sites),
        outboxes={site.name: site.max_bytes for site in config.sites if site.domains or site.topics},
        rejecting=frozenset(site.name for site in config.sites if site.when_full == "reject"),
        clients={site.name: site.clients for site in config.sites if site.clients},
        accepting={site.name: Accepting(site) for site in config.sites},
    )


def max_connections(config: Config) -> int:
    """Return how many connections of clients the node accepts.

    By default, one in sixteen of `limits.connections`, but at least 8, is left to operators and nodes, which
    are refused later than clients, and without a reason.
    """
    most = config.limits.connections
    return config.node.max_connections or max(1, most - max(8, most // 16))


def allowance_of(limits: Limits) -> Allowance:
    """Return the limits of incoming connections."""
    return Allowance(
        max_content=limits.max_content,
        connections=limits.connections,
        strangers=limits.strangers,
        of_address=limits.address_connections,
        of_key=limits.key_connections,
    )


def place(setting: str, text: str) -> Path:
    """Return the file or directory that a setting names. Raises: BadConfig."""
    check_path(f"{setting} = {text!r}", text, BadConfig)
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        user = text.partition("/")[0]
        what = f"{setting} = {text!r}: the home directory {user} cannot be determined."
        raise BadConfig(what, hint="Write an absolute path.") from error


class Balancers(NamedTuple):
    """The balancers of a node: the default, and those of some domains and addresses."""

    usual: Balancer
    domains: dict[str, Balancer]
    addresses: tuple[tuple[str, Balancer], ...]


def balancers_of(config: Config, jitter: Callable[[], float], tell: Callable[[str], None]) -> Balancers:
    """Return the configured balancers. Raises: BadConfig if one is missing, fails, or rejects an option.

    `jitter` returns random numbers in [0, 1), and `tell` receives warnings about slow plug-ins.
    """

    def made(name: str, options: Mapping[str, object], where: str) -> Balancer:
        try:
            balancer = named(name, jitter, options)
        except BadBalancer as error:
            raise BadConfig(f"{where}: {error.what}", code=error.code) from error
        return WatchedStrategy(name, balancer, tell) if isinstance(balancer, Guarded) else balancer

    own = [
        (it.kind, it.of, made(it.strategy, it.options, f"{it.origin}: {it.title}"))
        for it in config.strategies
    ]
    return Balancers(
        made(config.balancing.strategy, balancing_options(config), "balancing.strategy"),
        {of: balancer for kind, of, balancer in own if kind == "domain"},
        tuple((of, balancer) for kind, of, balancer in own if kind == "address"),
    )
