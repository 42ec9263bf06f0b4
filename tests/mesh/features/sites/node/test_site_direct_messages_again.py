"""Direct messages that find no space, or may have arrived: they are resent, once and in order."""

import dataclasses
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any
from unittest.mock import patch

import pytest

from mesh.config.sites import RemoteSite
from mesh.features.sites.node.parts import SiteParts
from tests.mesh.features.sites.node.chains import HF, NET1, NET2, Middle
from tests.mesh.features.sites.node.site_direct_messages import client, name_at, two_sites
from tests.mesh.features.sites.node.test_gateway_reload import reloaded
from tests.mesh.features.sites.node.test_pausing import paused
from tests.simulated_client import SimClient
from tests.simulation import SimNetwork, SimNode

LETTERS: dict[str, dict[str, object]] = {site: {"letters": ("#",)} for site in (HF, NET1, NET2)}


def full(node: SimNode, is_full: Callable[[], bool] = lambda: True) -> AbstractContextManager[Any]:
    return patch.object(node.core.parts.forwarder.tailback, "is_half_full", is_full)


def write(joe: SimClient, to: str, count: int, size: int = 0, force: bool = False) -> list[bytes]:
    contents = [b"%02d" % n + bytes(size) for n in range(count)]
    for content in contents:
        joe.send(to, content, persistent=True, force=force)
    return contents


# --- a site without space ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_letters_to_a_site_that_is_full_are_tried_ever_more_rarely_one_at_a_time() -> None:
    net = SimNetwork()
    _, b, c, d = two_sites(net)
    inbox, joe = client(d, "ann").inbox(), client(b, "joe")
    with full(c):
        contents = write(joe, name_at("NYC", d, "ann"), 20, 1000)
        net.run(40)
        assert b.metric("forwarded") <= 20 + 10 and joe.state(20) == "FORWARD_WARNING"
    net.until(lambda: len(inbox.got) == 20, 61.0)
    assert inbox.contents == contents
    net.until(lambda: all(joe.state(n + 1) == "OK" for n in range(20)))


def test_while_one_waits_for_room_letters_of_others_and_to_other_nodes_go_on() -> None:
    net = SimNetwork()
    _, b, c, d = two_sites(net)
    inbox, at_c = client(d, "ann").inbox(), client(c, "bob").inbox()
    joe, eve, said = client(b, "joe"), client(b, "eve"), iter([True])
    with full(c, lambda: next(said, False)):
        write(joe, name_at("NYC", d, "ann"), 1)
        net.run(0.1)
        assert next(said, None) is None and not inbox.got
        write(joe, name_at("NYC", c, "bob"), 1)
        eve.send(name_at("NYC", d, "ann"), b"eve")
        net.until(lambda: at_c.got and inbox.got)
    assert inbox.contents == [b"eve"]
    net.until(lambda: inbox.contents == [b"eve", b"00"])


def test_when_room_comes_between_two_letters_the_second_waits_for_the_first() -> None:
    net = SimNetwork()
    _, b, c, d = two_sites(net)
    inbox, joe = client(d, "ann").inbox(), client(b, "joe")
    said = iter([True])
    net.cut("a", "c")  # the connection is slow for a moment
    contents = write(joe, name_at("NYC", d, "ann"), 3)
    net.run(0.1)
    with full(c, lambda: next(said, False)):
        net.heal()
        net.until(lambda: len(inbox.got) == 3)
    assert inbox.contents == contents


@pytest.mark.slow
def test_when_the_letter_that_is_tried_is_void_the_next_one_goes_in_the_end() -> None:
    """The second message leaves once the other gateway no longer waits for the first."""
    net = SimNetwork()
    _, b, c, d = two_sites(net)
    inbox, joe = client(d, "ann").inbox(), client(b, "joe")
    with full(c):
        expires = b.core.parts.context.clock.wall + 5 * 10**9
        joe.send(name_at("NYC", d, "ann"), b"1", persistent=True, expires=expires)
        joe.send(name_at("NYC", d, "ann"), b"2", persistent=True)
        net.run(20)
        assert joe.state(1) == "EXPIRED"
    net.until(lambda: inbox.contents == [b"2"], 190.0)
    net.until(lambda: joe.state(2) == "OK")


def test_what_has_not_left_before_is_refused_at_once() -> None:
    net = SimNetwork()
    _, b, c, d = two_sites(net)
    joe = client(b, "joe")
    reloaded(c, {"LON": RemoteSite("LON")})
    write(joe, name_at("NYC", d, "ann"), 1)
    net.until(lambda: joe.state(1) == "NO_RIGHT", 2.0)


# --- a site in the middle ---------------------------------------------------------------------------------


def middle(room: int) -> tuple[Middle, str]:
    """Create sites whose middle gateways have room for `room` bytes of each neighbor."""
    sites = Middle(**LETTERS)
    for node in sites.middle:
        context = node.core.parts.context
        context.settings = dataclasses.replace(context.settings, tailback_bytes=2 * room)
    return sites, name_at(NET2, sites.net2, "ann")


def test_what_finds_no_room_in_the_middle_waits_where_it_was_sent() -> None:
    sites, ann = middle(50_000)
    inbox, joe = client(sites.net2, "ann").inbox(), client(sites.hf, "joe")
    paused(sites.first, NET2)
    link = sites.hf.core.parts[SiteParts].gateways.link
    sites.net.until(lambda: getattr(link(NET2), "state", "") == "paused by NET1")
    contents = write(joe, ann, 20, 10_000, force=True)
    joe.settled()
    assert {joe.state(n) for n in range(1, 21)} == {"FORWARD_WARNING"}
    paused(sites.first, NET2, False)
    sites.net.until(lambda: len(inbox.got) == 20)
    assert inbox.contents == contents
    sites.net.until(lambda: {joe.state(n) for n in range(1, 21)} == {"OK"})


def test_what_came_through_the_middle_is_not_called_refused_when_that_is_full_by_then() -> None:
    sites, ann = middle(10_000)
    net, through = sites.net, [node.core.parts[SiteParts].through for node in sites.middle]
    inbox, joe = client(sites.net2, "ann").inbox(), client(sites.hf, "joe")
    net.run(2)
    write(joe, ann, 1)
    net.until(lambda: inbox.contents)
    for node in sites.middle:
        net.cut("hf0", node.name)  # the answer is lost too
    net.run(17)
    with ExitStack() as room:
        for each in through:
            room.enter_context(patch.object(each, "_is_full", lambda *_: True))
        net.heal()
        net.run(10)
        assert joe.state(1) == "FORWARD_WARNING"
    net.until(lambda: joe.state(1) == "OK")
    assert inbox.contents == [b"00"]
