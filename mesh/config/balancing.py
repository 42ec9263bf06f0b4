"""Parses the strategies for single domains and addresses."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from msgspec import Meta

from mesh.config.source import ConfigFile, Setting, values
from mesh.errors import BadConfig, BadKey, BadPattern
from mesh.patterns import check_pattern
from mesh.values import check_domain

HeaderName = Annotated[str, Meta(min_length=1, max_length=256)]
Threshold = Annotated[float, Meta(gt=0, le=1)]
StrategyName = Annotated[str, Meta(min_length=1, max_length=256)]

# Keys of [[balancing.address]] and [[balancing.domain]]: the type, and a hint for wrong values.
STRATEGY_KEYS: dict[str, tuple[Any, str]] = {
    "strategy": (str, 'Write, for example, strategy = "LeastLoaded".'),
    "header": (HeaderName, 'Write the name of a header, such as header = "customer".'),
    "threshold": (
        Threshold,
        "Write a load, more than 0 (idle) and at most 1 (busy), such as threshold = 0.7.",
    ),
    "metadata": (StrategyName, 'Write a name in [node.metadata], such as metadata = "rack".'),
}
ADDRESS_KEYS = {"pattern": (str, 'Write, for example, pattern = "calc/#".'), **STRATEGY_KEYS}
DOMAIN_KEYS = {"name": (str, 'Write a domain, such as name = "NEWS".'), **STRATEGY_KEYS}
OPTIONS = ("header", "threshold", "metadata")


@dataclass(frozen=True, slots=True)
class OwnStrategy:
    """The strategy of one domain, or of addresses that match a pattern. `origin` is its place in the file."""

    kind: str  # "address" or "domain"
    of: str  # the pattern, or the domain
    strategy: str
    options: Mapping[str, object]
    origin: str = field(compare=False)

    @property
    def title(self) -> str:
        return f"[[balancing.{self.kind}]]"


def balancing_settings(file: ConfigFile) -> tuple[Setting, ...]:
    """Return the settings `balancing.address` and `balancing.domain`, each with an OwnStrategy.

    Raises: BadConfig with the place, the key and a hint.
    """
    table = file.table.get("balancing", {})
    table = table if isinstance(table, dict) else {}
    addresses = _of_kind(file, table, "address", "pattern", ADDRESS_KEYS, check_pattern)
    domains = _of_kind(file, table, "domain", "name", DOMAIN_KEYS, check_domain)
    return (*addresses, *domains)


def _of_kind(
    file: ConfigFile,
    table: Mapping[str, Any],
    kind: str,
    key: str,
    known: Mapping[str, tuple[Any, str]],
    check: Callable[[str], object],
) -> Iterator[Setting]:
    title, seen = f"[[balancing.{kind}]]", dict[str, tuple[int, str]]()
    rows = table.get(kind, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        hint = f"Write {title}, in double brackets, for each entry."
        raise BadConfig(
            f"{file.origin('balancing', kind)}: {kind!r} in [balancing] must be a list of sections.",
            hint=hint,
        )
    for number, row in enumerate(rows):
        at = ("balancing", kind, str(number))
        found, origin = values(file, at, title, row, known), file.origin(*at)
        for wanted in (key, "strategy"):
            if wanted not in found:
                raise BadConfig(f"{origin}: {title} has no {wanted}.", hint=known[wanted][1])
        try:
            check(found[key])
        except (BadKey, BadPattern) as error:
            place = file.origin(*at, key)
            raise BadConfig(f"{place}: {title} {key}: {error.what}", hint=error.hint) from error
        if (before := seen.setdefault(found[key], (number, origin)))[0] != number:
            first = "an earlier entry" if before[1] == origin else before[1]
            what = f"{origin}: {title} {key} = {found[key][:80]!r} is a duplicate of {first}."
            raise BadConfig(what, hint="Only the first would have an effect: keep one of them.")
        options = {name: found[name] for name in OPTIONS if name in found}
        own = OwnStrategy(kind, found[key], found["strategy"], options, origin)
        yield Setting(f"balancing.{kind}", own, origin)
