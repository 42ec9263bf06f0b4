"""Published messages wait for space in their order, and each turn leaves nothing undone."""

from collections.abc import Callable
from functools import partial

import pytest

from mesh.errors import WouldBlock
from mesh.wire import commands as c
from tests.simulated_client import client_of
from tests.simulation import SimNetwork
from tools.simulator.clients.driver import Driver


@pytest.fixture
def driver() -> Driver:
    net = SimNetwork()
    (node,) = net.mesh("a")
    return Driver(net, node.ipc).connected()


def test_more_than_the_window_holds_goes_as_soon_as_there_is_space() -> None:
    net = SimNetwork()
    (node,) = net.mesh("a")
    client = client_of(node)
    for n in range(1500):
        client.publish("k", b"%d" % n)
    assert not client.is_through and not client.is_stuck
    client.settled()
    assert client.is_through
    assert {client.state(n) for n in range(1, 1501)} == {"OK"}
    assert [content for _, content, _ in client.sent.values()] == [b"%d" % n for n in range(1500)]


def test_one_that_has_no_space_keeps_its_place_and_others_are_tried(driver: Driver) -> None:
    tried: list[str] = []
    full = True

    def post(name: str) -> None:
        tried.append(name)
        if full and name == "a1":
            raise WouldBlock("the window is full")

    first, second = driver.new_posts(), driver.new_posts()
    first.extend(partial(post, name) for name in ("a1", "a2"))
    second.extend(partial(post, name) for name in ("b1", "b2"))
    driver.post_waiting()
    assert tried == ["a1", "b1", "b2"] and driver.is_stuck and not driver.is_through
    full = False
    driver.post_waiting()
    assert tried[3:] == ["a1", "a2"] and driver.is_through and not driver.is_stuck


def test_a_command_is_sent_at_once_and_its_reply_is_heard(driver: Driver) -> None:
    call = driver.ask(lambda request: c.Call(request, "info", {}))
    assert driver.calls == {call.request: call}
    driver.net.until(lambda: call.reply)
    assert driver.calls == {} and call.reply is not None and call.reply.value["name"] == "a"


@pytest.mark.parametrize(("ends", "sessions"), [(Driver.close, 0), (Driver.die, 1)], ids=["close", "die"])
def test_only_one_who_closes_says_goodbye(ends: Callable[[Driver], None], sessions: int) -> None:
    net = SimNetwork()
    (node,) = net.mesh("a")
    driver = Driver(net, node.ipc).connected()
    ends(driver)
    net.run(0.5)
    assert driver.is_closed and len(node.core.parts.sessions.by_stream) == sessions
