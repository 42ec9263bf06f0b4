"""The events of erased topics: each author is named, without a flood."""

from mesh.kernel.asking.erasures import AGAIN, MOST, Erasures
from tests.mesh.kernel.keyed_client import Keyed
from tests.simulation import SimNetwork, SimNode


def test_the_first_is_reported_at_once_and_further_ones_once_a_minute() -> None:
    said: list[str] = []
    erasures = Erasures(said.append)
    for number in range(10_000):
        erasures.add("k", "joe", f"t/{number}", 0.0)
    erasures.add("other", "ann", "x", 1.0)
    assert said == ["'t/0' was erased by joe", "'x' was erased by ann"]
    erasures.tick(AGAIN - 1)
    assert len(said) == 2
    erasures.tick(AGAIN)
    assert said[2:] == ["9,999 more topics were erased by joe; the last was 't/9999'"]
    erasures.add("k", "joe", "again", AGAIN + 1)
    assert len(said) == 3  # the last report was a second ago
    erasures.tick(2 * AGAIN)
    erasures.tick(3 * AGAIN)
    assert said[3:] == ["1 more topic was erased by joe; the last was 'again'"]
    erasures.add("k", "joe", "later", 3 * AGAIN)
    assert said[4:] == ["'later' was erased by joe"]


def test_few_clients_are_remembered_and_nothing_is_lost_of_others() -> None:
    said: list[str] = []
    erasures = Erasures(said.append)
    for number in range(3 * MOST):
        erasures.add(str(number), str(number), "a", 0.0)
        erasures.add(str(number), str(number), "b", 0.0)
    erasures.tick(AGAIN)
    assert len(said) == 6 * MOST and len(erasures._by) == MOST


def events(node: SimNode, kind: str) -> list[str]:
    return [event.text for event in node.core.parts.context.events.events_after(0)[0] if event.kind == kind]


def test_an_event_says_by_whose_key_a_topic_was_erased() -> None:
    net = SimNetwork()
    node = net.node("a")
    eve = Keyed(node, "K" * 40, "eve")
    eve.publish("k", b"1")
    eve.settled()
    assert eve.erase("nothing") == [] and events(node, "erase") == []
    assert eve.erase("k") == ["k"]
    eve.publish("l", b"1")
    eve.settled()
    assert eve.erase("l") == ["l"]
    [text] = events(node, "erase")
    assert text.startswith("'k' was erased by /node/a/client/eve/") and "K" * 40 in text
    net.run(AGAIN + 2)
    assert events(node, "erase")[1:] == [text.replace("'k' was", "1 more topic was") + "; the last was 'l'"]
