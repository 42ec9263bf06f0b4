"""The core of a node: connections that come in and go, and time that passes."""

from mesh.kernel.context.settings import CONNECT
from mesh.wire import commands as c
from tests.mesh.kernel.stranger import Stranger
from tests.simulated_client import client_of
from tests.simulation import SimNetwork


def test_trial_A3_who_says_something_but_no_good_hello_is_hung_up_on_and_forgotten() -> None:
    a = SimNetwork().node("a")
    friend = client_of(a)
    strangers = [Stranger(a) for _ in range(3)]
    for stranger in strangers:
        stranger.put([b"what is this?"])
        stranger.say(c.Ping(1))
    before = len(a.core._conns)
    a.net.run(2 * CONNECT)
    assert len(a.core._conns) <= before - 3
    assert friend.is_up
    friend.publish("k")
    assert friend.settled().state(1) == "OK"
