"""Events about the views of this site and of other sites, on simulated nodes."""

from __future__ import annotations

from typing import Any

from mesh.features.sites.model.view_numbers import ViewChange
from mesh.features.sites.node.view_events import NAMED, row_of, text_of
from mesh.kernel.context.events import LONGEST
from tests.mesh.features.sites.node.meshes import FIRST, gateway, links, member
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode


def views(node: SimNode) -> list[dict[str, Any]]:
    """Return the views that the node has recorded, as a client reads them."""
    found: Any = client_of(node).call("events")
    assert all(event["view"] is None for event in found["events"] if event["kind"] != "view")
    return [event["view"] for event in found["events"] if event["kind"] == "view"]


def said(node: SimNode) -> list[tuple[int, str, int, int, list[str], list[str], bool]]:
    return [tuple(view.values()) for view in views(node)]


def test_003_14_a_gateway_numbers_the_views_of_its_site_and_of_others() -> None:
    net = SimNetwork()
    gull = gateway(net, "gull", "NYC", "LON")
    heron = gateway(net, "heron", "LON", "NYC", FIRST)
    net.until(lambda: links(gull) == links(heron) == 1)
    net.run(2)
    assert said(heron) == [(1, "LON", 1, 1, ["heron"], [], False), (2, "NYC", 1, 1, ["gull"], [], False)]
    swift = member(net, "swift", "LON", "heron", sites={"NYC": (FIRST,)})
    net.run(3)
    assert said(heron)[2:] == [(3, "LON", 2, 2, ["swift"], [], False)]
    assert said(gull)[2:] == [(3, "LON", 2, 2, ["swift"], [], False)]
    assert [view["site"] for view in views(swift)] == ["LON"], "it is no gateway"
    gull.kill()
    net.until(lambda: len(views(heron)) == 4, 60)
    gull.start()
    net.until(lambda: len(views(heron)) == 5, 60)
    assert said(heron)[3:] == [(4, "NYC", 2, 0, [], ["gull"], False), (5, "NYC", 3, 1, ["gull"], [], True)]


def test_a_mesh_that_is_no_site_records_no_views() -> None:
    net = SimNetwork()
    a, _ = net.mesh("a", "b")
    net.run(5)
    assert views(a) == []


def test_a_large_change_names_some_nodes_and_counts_the_rest() -> None:
    names = tuple(f"{n:064}" for n in range(4096))
    change = ViewChange(7, "NYC", 3, 4096, names, names[:21], is_merge=True)
    row, text = row_of(change), text_of(change)
    assert (len(row.joined), len(row.left), row.count) == (NAMED, NAMED, 4096)
    assert text.startswith("7: site NYC has 4,096 nodes in its view 3 (merged again): ")
    assert (
        " and 4,076 more joined; " in text and text.endswith(" and 1 more left") and len(text) < 2 * LONGEST
    )
