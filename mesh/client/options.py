"""The keyword arguments that several calls share, as types: `**options: Unpack[PublishOptions]`.

The defaults are those of the method that unpacks the options; `help()` shows its arguments.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict

from mesh.client.codecs import Codec
from mesh.client.content import Headings

DeliveryMode = Literal["one", "all"]
FailBackPolicy = Literal["never", "when_idle"]


class ClientOptions(TypedDict, total=False):
    """Options of `mesh.connect` and `mesh.node`."""

    client: str | None
    session: int | None
    timeout: float | None
    cluster: str | None
    environ: Mapping[str, str] | None
    codec: Codec | str
    patience: float | None
    tracing: bool


class ConnectOptions(ClientOptions, total=False):
    """Options of `mesh.connect`."""

    fail_back: FailBackPolicy


class NodeOptions(ClientOptions, total=False):
    """Options of `mesh.node`."""

    data: str | os.PathLike[str] | None
    bind: str | Iterable[str]
    seeds: str | Iterable[str]
    mdns: bool | None
    config: str | os.PathLike[str] | Mapping[str, Any] | None


class PublishOptions(TypedDict, total=False):
    """Options of `publish`, `publish_many`, `publish_oneway` and `post`."""

    domain: str | None
    xml: str | None
    headers: Headings
    persistent: bool
    expiry: float | None
    priority: int
    local_only: bool
    relay: bool
    codec: Codec | str | None


class SendOptions(TypedDict, total=False):
    """Options of `send`."""

    force_queuing: bool
    domain: str | None
    key: str
    headers: Headings
    persistent: bool
    expiry: float | None
    priority: int
    codec: Codec | str | None
    delivery: DeliveryMode | None
    local_only: bool


class PutOptions(TypedDict, total=False):
    """Options of `put`, `put_many` and `post` of a queue."""

    key: str
    headers: Headings
    priority: int
    expiry: float | None
    delay: float
    group: str
    persistent: bool
    codec: Codec | str | None


class QueryOptions(TypedDict, total=False):
    """Options that all kinds of subscriptions have."""

    pattern: str | Sequence[str] | None
    xpath: str | None
    domain: str | None
    max_queue: int


class SubscribeOptions(QueryOptions, total=False):
    """Options of `subscribe` without `durable`."""

    initial: bool
    history: int
    overflow: str
    group: str | None


class DurableOptions(QueryOptions, total=False):
    """Options of `subscribe` with `durable`."""

    selector: str | None


def check_options(options: Mapping[str, object], of: Any) -> None:
    """Raise TypeError for an option that the TypedDict `of` does not have."""
    if not options.keys() <= of.__annotations__.keys():
        raise unknown_option(options.keys() - of.__annotations__.keys(), of)


def unknown_option(names: Iterable[str], of: Any) -> TypeError:
    """Return the error for the alphabetically first of `names`.

    Its text proposes a similar option of the TypedDict `of`, or `timeout`, if there is one.
    """
    import difflib  # only errors need it

    name = min(names)
    near = difflib.get_close_matches(name[:40], {*of.__annotations__, "timeout"} - {name}, n=1)
    hint = f". Did you mean '{near[0]}'?" if near else ""
    return TypeError(f"unexpected keyword argument '{name}'{hint}")
