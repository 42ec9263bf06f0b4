"""Parses the stores of queues."""

from dataclasses import dataclass, field
from typing import Any

from mesh.config.source import ConfigFile, Setting, values
from mesh.config_store import MEMORY, check_queue_store
from mesh.errors import BadConfig, BadPattern
from mesh.names import LONGEST_QUEUE, PUTS, SUBS
from mesh.patterns import check_pattern

TITLE = "[[queues]]"
MOST, MOST_STORES = 1000, 64  # entries; stores, each with a thread

# Keys of [[queues]]: the type, and a hint for wrong values.
QUEUE_KEYS: dict[str, tuple[Any, str]] = {
    "name": (str, 'Write the name of a queue, or a pattern, such as name = "orders/#".'),
    "store": (str, 'Write, for example, store = "sqlite:///var/lib/mesh/orders.db", with the absolute path.'),
}


@dataclass(frozen=True, slots=True)
class QueueStore:
    """The store of the queues whose names match a pattern. `origin` is its place in the file."""

    name: str
    store: str
    origin: str = field(compare=False)


def queue_settings(file: ConfigFile) -> tuple[Setting, ...]:
    """Return a setting `queues` for each QueueStore, in the order of the file.

    For a queue, the first entry that matches counts. Raises: BadConfig with the place, the key and a hint.
    """
    entries = file.table.get("queues", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        hint = f"Write {TITLE}, in double brackets, for each entry."
        raise BadConfig(f"{file.origin('queues')}: 'queues' must be a list of sections.", hint=hint)
    found, seen = list[QueueStore](), dict[str, int]()
    for number, entry in enumerate(entries):
        one = _read(file, ("queues", str(number)), entry)
        if (before := seen.setdefault(one.name, number)) != number:
            first = "an earlier entry" if found[before].origin == one.origin else found[before].origin
            what = f"{one.origin}: {TITLE} name = {one.name[:80]!r} is a duplicate of {first}."
            raise BadConfig(what, hint="Only the first would have an effect: keep one of them.")
        found.append(one)
    _check_number(file, found)
    return tuple(Setting("queues", one, one.origin) for one in found)


def _read(file: ConfigFile, at: tuple[str, ...], entry: dict[str, Any]) -> QueueStore:
    given, origin = values(file, at, TITLE, entry, QUEUE_KEYS), file.origin(*at)
    for wanted, (_, hint) in QUEUE_KEYS.items():
        if wanted not in given:
            raise BadConfig(f"{origin}: {TITLE} has no {wanted}.", hint=hint)
    try:
        check_pattern(given["name"])
    except BadPattern as error:
        raise BadConfig(f"{file.origin(*at, 'name')}: {TITLE} name: {error.what}", hint=error.hint) from error
    if given["name"].startswith(PUTS):
        what = (
            f"{file.origin(*at, 'name')}: {TITLE} name = {given['name'][:80]!r} is not the name of a queue."
        )
        raise BadConfig(what, hint=f"Omit {PUTS}: only destinations begin with it.")
    if len(given["name"]) > LONGEST_QUEUE:
        what = f"{file.origin(*at, 'name')}: {TITLE} name has {len(given['name']):,} characters."
        raise BadConfig(what, hint=f"The limit for queue names is {LONGEST_QUEUE} characters.")
    try:
        check_queue_store(given["store"])
    except BadConfig as error:
        raise BadConfig(
            f"{file.origin(*at, 'store')}: {TITLE} store: {error.what}", hint=error.hint
        ) from None
    if given["name"].startswith(SUBS) and given["store"] == MEMORY:
        what = f"{file.origin(*at, 'store')}: {TITLE} store: a durable subscription cannot be in memory."
        raise BadConfig(what, hint="Name a file or a database, or omit the entry.")
    return QueueStore(given["name"], given["store"], origin)


def _check_number(file: ConfigFile, found: list[QueueStore]) -> None:
    stores = {one.store for one in found}
    for what, number, most in (("entries", len(found), MOST), ("stores", len(stores), MOST_STORES)):
        if number > most:
            hint = (
                "A pattern, such as orders/#, stands for many queues."
                if what == "entries"
                else "Several entries may name the same store."
            )
            raise BadConfig(
                f"{file.origin('queues')}: {TITLE} has {number:,} {what}; the limit is {most:,}.", hint=hint
            )


def check_lasting(store: str, queues: tuple[QueueStore, ...]) -> None:
    """Check that a node whose own store is `store` can have `queues`. Raises: BadConfig.

    The node's own store holds the definitions of queues, so it must not be in memory if a queue's is not.
    """
    for one in queues:
        if store == MEMORY and one.store != MEMORY:
            raise BadConfig(
                f"{one.origin}: {TITLE} store = {one.store!r:.80}, but node.store is memory: "
                "the node's identity and the definitions of its queues would be lost with the process.",
                hint='Set node.store = "sqlite" (in mesh.node() also: data=DIR), or store = "memory" here.',
            )
