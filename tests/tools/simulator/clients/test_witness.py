"""A client of the simulator records the envelopes that grow beyond those before."""

from tools.simulator.clients.witness import Witness
from tools.simulator.history import History
from tools.simulator.world.weather import HarshNetwork

EACH = 64 + 10  # bytes of credit for a content of ten bytes


def test_messages_that_waited_for_the_window_share_an_envelope_larger_than_it() -> None:
    net, history = HarshNetwork(1), History()
    node = net.node("a", window_bytes=900, window_count=1)
    client = Witness(net, node.ipc, "joe", history)
    client.connected()
    for words in ("k", "k", " ".join("k" * 5), " ".join("k" * 50), "k"):
        client.publish(words, *[b"x" * 10] * len(words.split()))
    client.settled()
    assert [event.stamp // EACH for event in history.of("envelope")] == [1, 57]
    assert all(event.who == "client joe" for event in history.of("envelope"))
