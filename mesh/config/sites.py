"""Parses the sections of this site and of other sites: gateways, sent and accepted topics."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from mesh.config.rule import spelt
from mesh.config.source import ConfigFile, Setting, values
from mesh.dialable import is_dialable
from mesh.errors import BadConfig, BadName, LocalError
from mesh.mapping.rules import ANY_DOMAIN
from mesh.names import node_name
from mesh.patterns import SYSTEM, check_pattern
from mesh.site_policy.accepting import EVERY_CLIENT, EVERYWHERE, SITE, Accepts, is_own_address
from mesh.site_policy.selection import is_own
from mesh.values import check_domain
from mesh.wire.limits import HOPS

MIB = 1024 * 1024
MOST, MOST_NAMED, MOST_ADDRESSES, MOST_RELAYS = 64, 1000, 16, 16  # sites; names; addresses; gateways
SMALLEST, LARGEST = 2 * MIB, 1024 * 1024 * MIB  # bytes kept for a site, at least one message of 1 MiB

_SIZE = re.compile(r"([1-9][0-9]{0,12}) ?(|[KMGT]iB)", re.ASCII)
_UNITS = {"": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}

Names = Annotated[tuple[str, ...], Meta(max_length=MOST_NAMED)]

# Keys of [sites.NAME]: the type, and a hint for wrong values.
ACCEPT_KEYS: dict[str, tuple[Any, str]] = {
    "domains": (Names, 'Write a list, such as domains = ["STOCK"].'),
    "topics": (Names, 'Write a list of patterns, such as topics = ["sensors/#"].'),
}
REMOTE_KEYS: dict[str, tuple[Any, str]] = {
    "addresses": (
        Annotated[tuple[str, ...], Meta(max_length=MOST_ADDRESSES)],
        'Write a list, such as addresses = ["tcp://10.1.0.5:7710"].',
    ),
    **ACCEPT_KEYS,
    "one_way": (bool, "Write true if nothing is accepted from that site, else false."),
    "max_bytes": (
        Annotated[int, Meta(ge=SMALLEST, le=LARGEST)] | str,
        'Write the limit of waiting messages for that site at each master, such as max_bytes = "1GiB".',
    ),
    "when_full": (Literal["mark", "reject"], '"mark" marks the site for a later transfer, "reject" refuses.'),
    "via": (
        Annotated[str, Meta(min_length=1)],
        'Write the name of the site through which that site is reached, such as via = "NET1".',
    ),
    "accepts": (
        dict[str, Any],
        'Write what that site may send, such as accepts = {domains = ["STOCK"], topics = ["sensors/#"]}.',
    ),
    "serves": (Names, 'Write a list of addresses and sites, such as serves = ["calc/#", "site/NYC"].'),
    "clients": (
        bool | Annotated[tuple[str, ...], Meta(max_length=MOST_ADDRESSES)],
        'Write true, or a list of addresses, such as clients = ["tcp://10.1.0.6:7710"].',
    ),
    "letters": (Names, 'Write a list of clients, such as letters = ["joe"]; "#" is all of them.'),
}


class SiteSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[site]` section: the name of this site, and whether this node may be a gateway."""

    name: str | None = None  # of this site; unset: no sites
    relay: bool = False  # this node may be a gateway to other sites
    relays: Annotated[int, Meta(ge=1, le=MOST_RELAYS)] = 1  # gateways that share the work


@dataclass(frozen=True, slots=True)
class RemoteSite:
    """A site other than this one: its gateways, the topics to send there, and the topics to accept."""

    name: str
    addresses: tuple[str, ...] = ()  # none: the site dials us, or has `via`
    domains: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    one_way: bool = False
    max_bytes: int = 1024 * MIB
    when_full: Literal["mark", "reject"] = "mark"
    via: str = ""
    accepts: Accepts | None = None  # None: as sent; with `one_way` nothing
    serves: tuple[str, ...] = ()
    letters: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()  # nodes there for clients of this site


def site_settings(file: ConfigFile) -> tuple[Setting, ...]:
    """Return `sites.NAME`, a RemoteSite, for each other site of the file.

    Raises: BadConfig with the place, the key and a hint.
    """
    sites = file.table.get("sites", {})
    hint = "Write [sites.NAME] for each other site, and its keys in the lines below it."
    if not isinstance(sites, dict):
        raise BadConfig(f"{file.origin('sites')}: 'sites' must be a section.", hint=hint)
    if len(sites) > MOST:
        raise BadConfig(f"{file.origin('sites')}: {len(sites):,} sites exceed the limit of {MOST}.")
    found = tuple(_remote(file, name, sites[name]) for name in sites)
    _check_ways(file, [setting.value for setting in found])
    return found


def check_here(here: Setting, others: Iterable[Setting]) -> None:
    """Check that this site, if there are others, has a name that differs from theirs. Raises: BadConfig."""
    for other in others:
        if here.value is None:
            what = f"{other.origin}: [{other.name}] names another site, but this site has no name."
            raise BadConfig(what, hint='Add its name to the section [site], such as name = "LON".')
        if other.value.name == here.value:
            what = f"{other.origin}: [{other.name}] is this site, according to site.name ({here.origin})."
            raise BadConfig(what, hint="Name other sites only.")


def _remote(file: ConfigFile, name: str, section: object) -> Setting:
    at, origin = ("sites", name), file.origin("sites", name)
    if not isinstance(section, dict):
        hint = "Write [sites.NAME] for each other site, and its keys in the lines below it."
        raise BadConfig(f"{origin}: {name[:80]!r} in [sites] is not the section of a site.", hint=hint)
    try:
        path = f"sites.{spelt(node_name(name))}"
    except BadName as error:
        raise BadConfig(f"{origin}: sites: {error.what}", hint=error.hint) from None
    title = f"[{path}]"
    given = values(file, at, title, section, REMOTE_KEYS)
    _check_selection(file, at, title, given)
    for pattern in given.get("serves", ()):
        _fit(file, (*at, "serves"), f"{title} serves", _served, pattern)
    for client in given.get("letters", ()):
        _fit(file, (*at, "letters"), f"{title} letters", _addressee, client)
    if (accepts := given.get("accepts")) is not None:
        title_of = f"{title} accepts"
        said = values(file, (*at, "accepts"), title_of, accepts, ACCEPT_KEYS)
        _check_selection(file, (*at, "accepts"), title_of, said)
        given["accepts"] = Accepts(**said)
    if "max_bytes" in given:
        given["max_bytes"] = _fit(file, (*at, "max_bytes"), f"{title} max_bytes", size, given["max_bytes"])
    given["clients"] = _for_clients(file, at, title, given)
    _check_together(file, at, title, given)
    if f"{SITE}{name}" in given.get("serves", ()):
        what = f"{file.origin(*at, 'serves')}: {title} serves {SITE}{name}, so its own messages would return."
        raise BadConfig(what, hint=f"Name the sites that {name} may reach through this site.")
    return Setting(path, RemoteSite(name, **given), origin)


def _for_clients(
    file: ConfigFile, at: tuple[str, ...], title: str, given: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return the addresses that clients of this site may dial; `true` means those of the gateways."""
    clients: bool | tuple[str, ...] = given.get("clients", False)
    if clients is True and not given.get("addresses"):
        what = f"{file.origin(*at, 'clients')}: {title} has clients = true, but no addresses."
        raise BadConfig(what, hint='Write addresses of its nodes: clients = ["tcp://10.1.0.6:7710"].')
    return clients if isinstance(clients, tuple) else given["addresses"] if clients else ()


def _check_together(file: ConfigFile, at: tuple[str, ...], title: str, given: Mapping[str, Any]) -> None:
    place = file.origin(*at, "addresses")
    for key, of in (("addresses", "gateway"), ("clients", "node")):
        for address in given.get(key, ()):
            if not is_dialable(address):
                what = (
                    f"{file.origin(*at, key)}: {title} {key}: {address[:80]!r} is not the address of a {of}."
                )
                raise BadConfig(what, hint="Write tcp://IP:PORT, such as tcp://10.1.0.5:7710.")
    if given.get("addresses") and "via" in given:
        what = f"{place}: {title} has both addresses and via = {given['via'][:80]!r}."
        raise BadConfig(what, hint="Keep either addresses or via.")
    inward = [key for key in ("accepts", "serves", "letters") if any(given.get(key, ()))]
    if given.get("one_way") and inward:
        what = (
            f"{file.origin(*at, inward[0])}: '{inward[0]}' in {title} lets messages in, but one_way = true."
        )
        raise BadConfig(what, hint=f"Omit either '{inward[0]}' or one_way.")


def _check_selection(file: ConfigFile, at: tuple[str, ...], title: str, given: Mapping[str, Any]) -> None:
    for key, check in (("domains", _domain), ("topics", _topic)):
        for text in given.get(key, ()):
            _fit(file, (*at, key), f"{title} {key}", check, text)


def _fit(file: ConfigFile, at: tuple[str, ...], what: str, check: Any, text: Any) -> Any:
    try:
        return check(text)
    except LocalError as error:
        raise BadConfig(f"{file.origin(*at)}: {what}: {error.what}", hint=error.hint) from None


def _domain(text: str) -> str:
    if text == ANY_DOMAIN:
        what = f"{text!r} is not a domain; each domain must be listed by its name."
        raise BadConfig(what, hint='List the domains, or write topics = ["#"] for all topics in any domain.')
    if is_own(check_domain(text)):
        what = f"Messages of the domain {text[:80]!r} never leave their site."
        raise BadConfig(what, hint="Name domains in which users publish.")
    return text


def _topic(text: str) -> str:
    if check_pattern(text).startswith(SYSTEM):
        what = f"{text[:80]!r} begins with {SYSTEM}: messages of the mesh itself never leave a site."
        raise BadConfig(what, hint="Name topics of users, such as sensors/#.")
    return text


def _served(text: str) -> str:
    if text.startswith(SITE):
        name = text.removeprefix(SITE)
        return text if name == EVERYWHERE else f"{SITE}{node_name(name)}"
    if is_own_address(check_pattern(text)):
        what = f"{text[:80]!r} has the prefix of reserved addresses or of client names."
        raise BadConfig(what, hint="Name addresses that programs serve, such as calc/#.")
    return text


def _addressee(text: str) -> str:
    if text == EVERY_CLIENT:
        return text
    if node_name(text).startswith(SYSTEM):
        raise BadConfig(f"{text[:80]!r} is reserved for the mesh.", hint="Name clients, such as joe.")
    return text


def size(given: int | str) -> int:
    """Return the bytes of a text such as 512MiB, from SMALLEST to LARGEST. Raises: BadConfig.

    A number was checked before, and is returned unchanged.
    """
    if isinstance(given, int):
        return given
    found = _SIZE.fullmatch(given)
    if found is None:
        hint = 'Write a number of bytes, or a text such as "512MiB" or "1GiB".'
        raise BadConfig(f"{given[:80]!r} is not a size.", hint=hint)
    number = int(found[1]) * _UNITS[found[2]]
    if not SMALLEST <= number <= LARGEST:
        what = f"{given!r} is too {'small' if number < SMALLEST else 'large'}."
        raise BadConfig(what, hint="The limit for a site is from 2MiB to 1TiB.")
    return number


def _check_ways(file: ConfigFile, sites: Iterable[RemoteSite]) -> None:
    """Check that each `via` names a known site, and that no route has a loop or is too long."""
    known = {site.name for site in sites}
    steps = {site.name: [site.via] for site in sites if site.via}
    for name, (via,) in steps.items():
        if via not in known:
            place = file.origin("sites", name, "via")
            what = f"{place}: [sites.{spelt(name)}] via = {via[:80]!r} is not another site in the file."
            others = ", ".join(sorted(known - {name}))
            hint = f"Known: {others}." if others else "Add a section [sites.NAME] for the site in between."
            raise BadConfig(what, hint=hint)
    try:
        TopologicalSorter(steps).prepare()
    except CycleError as error:
        circle = error.args[1][::-1]
        raise BadConfig(
            f"{file.origin('sites', circle[0], 'via')}: the routes form a loop: {' -> '.join(circle)}.",
            hint="via names the next site of the route; the last one has addresses, or dials this site.",
        ) from None
    for name in steps:
        way = [name]
        while way[-1] in steps:
            way += steps[way[-1]]
        if len(way) > HOPS:
            place = file.origin("sites", name, "via")
            what = f"{place}: [sites.{spelt(name)}] is {len(way)} sites away; the limit is {HOPS}."
            raise BadConfig(what, hint="Set addresses for a gateway that is closer to that site.")
