"""The metrics of a node: one for each figure, in agreement with page, dashboard and alerts, and bounded."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from mesh.features.all import FEATURES
from mesh.kernel.context.settings import Settings
from mesh.kernel.node import NodeCore
from mesh.kernel.parts import Parts
from mesh.metrics.exposition import exposed
from mesh.metrics.families import ADDRESSES, ASKS, QUEUES, families, known
from mesh.metrics.family import COUNTER
from mesh.metrics.table import TABLE
from mesh.wire.commands import Introduction
from mesh.wire.replies import FaredRow, Info, QueueRow
from tests.mesh.metrics.infos import info

DOCS = Path(__file__).parents[3] / "docs"
MACHINE = {  # figures of the shell: mesh.store.roomy, mesh.local.segments
    "disk_free", "disk_short", "disk_refused",
    "snapshot_lines", "snapshot_bytes", "snapshot_segments", "snapshot_lost", "snapshot_dropped",
}  # fmt: skip


def core() -> NodeCore:
    return NodeCore(Parts(Settings(me=Introduction(b"h" * 16, "heron", 3, "")), bytes, lambda: 0.5, FEATURES))


def test_every_figure_of_a_node_is_a_metric_and_no_other(figures: set[str]) -> None:
    assert TABLE.keys() == figures | MACHINE


@pytest.fixture(scope="module")
def figures() -> set[str]:
    return set(core().parts.context.figures())


def test_what_watches_a_node_is_told_at_once_and_without_a_session() -> None:
    told: list[object] = []
    for ask in ASKS:
        core().answer_process(ask, told.append, 1.0, 1)
    assert isinstance(told[0], Info) and len(told) == len(ASKS)


def test_no_two_figures_are_the_same_sample_and_rows_of_a_metric_agree() -> None:
    assert max(Counter((row.name, *row.labels.items()) for row in TABLE.values()).values()) == 1
    for name in {row.name for row in TABLE.values()}:
        rows = [row for row in TABLE.values() if row.name == name]
        assert len({row.kind for row in rows}) == len({tuple(row.labels) for row in rows}) == 1
        assert rows[0].help and not any(row.help for row in rows[1:])


def test_names_are_those_of_prometheus() -> None:
    for family in known():
        assert re.fullmatch(r"mesh_[a-z0-9_]+", family.name) and not family.name.endswith("_total")
        assert family.title.endswith("_total") is (family.kind == COUNTER)


def test_a_figure_becomes_its_sample() -> None:
    found = {family.title: family.samples for family in families(info(delivered=4, dropped=2, tailed_back=1))}
    assert found["mesh_matched_done_total"] == [({"fate": "delivered"}, 4.0), ({"fate": "dropped"}, 2.0)]
    assert found["mesh_tailback_messages"] == [({}, 1.0)] and found["mesh_disk_free_bytes"] == [({}, 7.0)]
    assert found["mesh_loop_lag_seconds"] == [({"share": "1"}, 0.2), ({"share": "0.99"}, 0.1)]
    assert "mesh_topics" not in found  # an older node does not report them
    assert found.keys() <= {family.title for family in known()}


def test_of_very_many_queues_a_bounded_number_has_metrics() -> None:
    rows = [QueueRow(name=f"q{n:05}", ready=n) for n in range(3 * QUEUES)]
    found = {family.title: family.samples for family in families(info(), rows)}
    assert [labels["queue"] for labels, _ in found["mesh_queue_ready"]] == [row.name for row in rows[:QUEUES]]
    assert len(exposed(families(info(), rows))) < 100_000


def test_of_very_many_addresses_a_bounded_number_has_metrics() -> None:
    rows = [FaredRow(address=f"a/{n:05}", requests=n, seconds=0.5) for n in range(3 * ADDRESSES)]
    found = {family.title: family.samples for family in families(info(), [], rows)}
    assert found["mesh_address_requests_total"] == [
        ({"address": row.address}, float(row.requests)) for row in rows[:ADDRESSES]
    ]
    assert found["mesh_address_reply_seconds_total"][0] == ({"address": "a/00000"}, 0.5)


def test_the_page_names_every_metric_and_no_other() -> None:
    page = (DOCS / "monitoring.md").read_text()
    rows = page[page.index("| metric | kind |") :].partition("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in rows]
    assert [(row[0].strip("`"), row[1], row[-1]) for row in cells] == [
        (family.title, family.kind, family.help) for family in known()
    ]
    for family, row in zip(known(), cells, strict=True):
        for labels in (each.labels for each in TABLE.values() if each.name == family.name):
            assert all(f"`{name}`" in row[2] and f"`{value}`" in row[2] for name, value in labels.items())


@pytest.mark.parametrize("file", ["grafana.json", "alerts.yml"])
def test_dashboard_and_alerts_ask_for_metrics_and_labels_that_there_are(file: str) -> None:
    text = (DOCS / "monitoring" / file).read_text()
    if file.endswith("json"):
        asked = [target["expr"] for panel in json.loads(text)["panels"] for target in panel["targets"]]
        asked += [each["query"] for each in json.loads(text)["templating"]["list"]]
    else:
        asked = re.findall(r"expr: (.*)", text)
    names = set(re.findall(r"\bmesh_\w+", " ".join(asked)))
    assert len(names) > 4 and names <= {family.title for family in known()}
    labels = {name for row in TABLE.values() for name in row.labels} | {"queue", "address", "share"}
    by = {word for group in re.findall(r"by \(([^)]*)\)", " ".join(asked)) for word in group.split(", ")}
    assert by <= labels | {"instance"}
