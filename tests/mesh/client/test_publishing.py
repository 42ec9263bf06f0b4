"""`post`: a message is the same whichever way leads to its envelope, for a real client on a wire."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mesh.client import wired
from mesh.client.client import Client
from mesh.errors import BadKey, Closed, MessageTooLarge, WouldBlock
from mesh.values import message_id
from mesh.wire.envelope import LOCAL_ONLY, NO_RELAY, PERSISTENT
from mesh.wire.limits import ENVELOPE_BYTES, ENVELOPE_MESSAGES, STAYS
from tools.costing import wire
from tools.costing.wire import WELCOME, Wire

OPTIONS: list[dict[str, Any]] = [
    {},
    {"persistent": True},
    {"domain": "sport"},
    {"domain": "sport", "local_only": True},
    {"relay": False},  # this node does not know it
    {"domain": None, "persistent": False},
    {"headers": {"unit": "C"}},
    {"priority": 9},
]
Post = tuple[str, int, dict[str, Any]]  # key, bytes, and options
SIZES = st.integers(0, 20) | st.sampled_from([60_000, ENVELOPE_BYTES // 4])
POSTS = st.lists(st.tuples(st.sampled_from("abc"), SIZES, st.sampled_from(OPTIONS)), max_size=20)


@contextmanager
def client_on_a_wire() -> Iterator[tuple[asyncio.Runner, Client]]:
    client = Client("ipc:///run/heron", client="joe")
    with asyncio.Runner() as runner, patch.object(wired, "Sockets", Wire):
        runner.run(client.__aenter__())
        yield runner, client


async def all_left(client: Client) -> None:
    """Wait until no message waits for others of its envelope."""
    while client._core.publisher.accumulator.builder is not None:
        await asyncio.sleep(0)


def flags_of(options: dict[str, Any]) -> int:
    return PERSISTENT * bool(options.get("persistent")) | LOCAL_ONLY * bool(options.get("local_only"))


@given(POSTS, st.integers(1, 3))
def test_what_is_posted_is_what_leaves_in_its_order_and_with_its_number(
    posts: list[Post], times: int
) -> None:
    """Each is posted several times in a row: the first one prepares the path that the others take."""
    with client_on_a_wire() as (runner, client):

        async def scenario() -> list[str]:
            return [client.post(k, bytes(n), **options).id for k, n, options in posts for _ in range(times)]

        ids = runner.run(scenario())
        runner.run(all_left(client))
        came = [
            (e.keys[e.row(i)], e.message(i)[1], e.domain, e.flags, bool(e.message(i)[0]), e.number(i))
            for e in Wire.made.published
            for i in range(e.count)
        ]
    next_number: Counter[str] = Counter()
    wanted = []
    for key, size, options in posts:
        for _ in range(times):
            domain = options.get("domain") or ""
            next_number[domain] += 1
            has_own = "headers" in options or "priority" in options
            wanted.append((key, bytes(size), domain, flags_of(options), has_own, next_number[domain]))
    assert came == wanted
    assert ids == [message_id(client._stream, domain, number) for *_, domain, _, _, number in wanted]


def test_that_it_leaves_no_site_is_said_to_who_knows_what_that_is() -> None:
    said = replace(WELCOME, speaks=(*WELCOME.speaks, STAYS))
    with patch.object(wire, "WELCOME", said), client_on_a_wire() as (runner, client):

        async def scenario() -> None:
            client.post("a", b"1", relay=False)
            client.post("a", b"2", relay=True)

        runner.run(scenario())
        runner.run(all_left(client))
        assert [each.flags for each in Wire.made.published] == [NO_RELAY, 0]


def test_no_envelope_holds_more_than_it_may() -> None:
    with client_on_a_wire() as (runner, client):

        async def scenario() -> None:
            for number in range(2 * ENVELOPE_MESSAGES + 1):
                client.post("a", b"x")
                if number % 700 == 0:
                    client.post("b", bytes(ENVELOPE_BYTES // 3))

        runner.run(scenario())
        runner.run(all_left(client))
        published = Wire.made.published
    assert sum(e.count for e in published) == 2 * ENVELOPE_MESSAGES + 7
    assert max(e.count for e in published) <= ENVELOPE_MESSAGES
    assert max(len(e.body) for e in published) < ENVELOPE_BYTES + ENVELOPE_BYTES // 3


def test_what_cannot_be_posted_leaves_nothing_behind() -> None:
    with client_on_a_wire() as (runner, client):

        async def scenario() -> None:
            client.post("a", b"1")
            with pytest.raises(BadKey):
                client.post("a/#/b", b"2")
            with pytest.raises(MessageTooLarge):
                client.post("b", bytes((1 << 20) + 1))
            with pytest.raises(TypeError, match="type object cannot be encoded as application/json"):
                client.post("b", object())
            client.post("a", "4")

        runner.run(scenario())
        [envelope] = Wire.made.published
    assert (envelope.keys, envelope.contents()) == (("a",), [b"1", b"4"])


def test_headers_that_their_owner_changes_are_those_of_the_moment() -> None:
    with client_on_a_wire() as (runner, client):

        async def scenario() -> None:
            headers: dict[str, str] = {}
            client.post("a", b"1", headers=headers)
            headers["unit"] = "C"
            client.post("a", b"2", headers=headers)

        runner.run(scenario())
        [envelope] = Wire.made.published
    assert [bool(envelope.message(i)[0]) for i in (0, 1)] == [False, True]


def test_a_window_that_is_full_lets_nothing_in_by_any_way() -> None:
    with client_on_a_wire() as (runner, client):

        async def scenario() -> int:
            for number in range(1_000):
                try:
                    client.post("a", bytes(50_000))
                except WouldBlock:
                    return number
            return 0

        posted = runner.run(scenario())
    assert 4 << 20 <= 50_000 * posted < (4 << 20) + ENVELOPE_BYTES + 50_000


def test_a_client_that_is_closed_takes_nothing_more_into_an_envelope_that_was_open() -> None:
    with client_on_a_wire() as (runner, client):

        async def scenario() -> None:
            client.post("a", b"1")
            await client.close(drain=False)
            with pytest.raises(Closed):
                client.post("a", b"2")

        runner.run(scenario())
