"""A node's state as XML, as clients read it."""

from typing import Any

from lxml import etree

from mesh.discovery.state import CORES
from mesh.discovery.state_xml import as_xml
from tools.models.gossip_mesh import state

UUID = bytes(range(16))


def attributes(content: bytes, tag: str) -> list[dict[str, str]]:
    return [
        {str(name): str(value) for name, value in element.items()}
        for element in etree.fromstring(content).findall(f"state/{tag}")
    ]


def test_a_state_has_the_shape_that_xmlblaster_drew() -> None:
    root = etree.fromstring(as_xml(state(UUID, name="heron", cpu=(40, 44.4), ram_free=12_000_999, load=0.8)))
    assert (root.tag, dict(root.items()), [child.tag for child in root]) == (
        "clusternode",
        {"id": "heron"},
        ["state"],
    )
    content = etree.tostring(root)
    assert attributes(content, "cpu") == [{"id": "0", "idle": "40"}, {"id": "1", "idle": "44"}]
    assert attributes(content, "ram")[0]["free"] == "12000"  # in kB, which the page calls 12 MB
    assert attributes(content, "performance")[0]["idleIndex"] == "20"


def test_everything_else_that_a_node_says_is_there_too() -> None:
    content = as_xml(state(UUID, boot=3, counter=7, insecure=True, lag=0.0123, queued=9, consumers=4))
    assert attributes(content, "ram")[0]["total"] == "8000000"
    assert attributes(content, "performance")[0]["lag"] == "0.0123"
    assert attributes(content, "messages") == [{"published": "12.5", "delivered": "25.0"}]
    queues = {"pending": "3", "tailback": "0", "stored": "7", "queued": "9", "consumers": "4"}
    assert attributes(content, "queues") == [queues]
    assert attributes(content, "clients") == [{"sessions": "2", "subscriptions": "5"}]
    assert attributes(content, "links") == [{"count": "31"}]
    [version] = attributes(content, "version")
    assert version == {
        "uuid": UUID.hex(),
        "boot": "3",
        "counter": "7",
        "wall": "1790000000000000000",
        "up": "10000.0",
        "software": "heronry 0.1.0",
        "insecure": "true",
    }


def test_text_from_elsewhere_stays_text() -> None:
    content = as_xml(state(UUID, software='<x y="&amp;">'))
    assert attributes(content, "version")[0]["software"] == '<x y="&amp;">'


def test_the_fullest_state_stays_within_what_a_key_or_a_screen_can_take() -> None:
    assert len(as_xml(state(UUID, name="n" * 64, cpu=(100,) * CORES))) < 16 * 1024


def test_how_requests_fare_is_there_too() -> None:
    fares: dict[str, Any] = {
        "requested": 12.34,
        "request_p50": 0.0012345,
        "request_p99": 0.1,
        "request_failed": 0.5,
        "served": 7,
    }
    said = {"requested": "12.3", "p50": "0.001234", "p99": "0.100000", "failed": "0.5", "served": "7.0"}
    assert attributes(as_xml(state(UUID, **fares)), "services") == [said]
