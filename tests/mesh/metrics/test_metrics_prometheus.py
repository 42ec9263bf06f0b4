"""A real Prometheus: it has data for each query of the dashboard, and alerts fire only past their limits.

The tests need Debian's package `prometheus`, which includes promtool.
"""

import asyncio
import json
import re
import shutil
import subprocess
import threading
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import mesh
from mesh.errors import MeshError
from tests.mesh.running import LIMIT, RunningNode, running, until
from tests.pages import ROOT, free_port

FOLDER = ROOT / "docs" / "monitoring"
DASHBOARD: dict[str, Any] = json.loads((FOLDER / "grafana.json").read_text())
# Panels that can show 0 in a healthy mesh.
MAY_BE_NOUGHT = {"Nodes", "Waiting for subscribers", "What others said that is not taken"}
# The sample of each alert, a value that fires it, and a value that does not.
ALERTS: dict[str, tuple[str, float, float]] = {
    "MeshNodeGone": ('up{job="heronry",instance="a"}', 0, 1),
    "MeshTailbackOld": ('mesh_tailback_age_seconds{instance="a"}', 61, 60),
    "MeshDiskShort": ('mesh_disk_free_bytes{instance="a"}', 9e8, 2e9),
    "MeshLoopLate": ('mesh_loop_lag_seconds{instance="a",share="0.99"}', 0.26, 0.25),
    "MeshNodesSuspect": ('mesh_nodes_suspect{instance="a"}', 1, 0),
    "MeshQueueOld": ('mesh_queue_oldest_seconds{instance="a",queue="q"}', 601, 600),
}
pytestmark = pytest.mark.slow


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed: it comes with Debian's package prometheus")
    return found


class Prometheus:
    """A running Prometheus, which is queried over its HTTP API, as by Grafana."""

    def __init__(self, port: str) -> None:
        self._at = f"http://127.0.0.1:{port}"

    def is_ready(self) -> bool:
        with suppress(OSError), urllib.request.urlopen(f"{self._at}/-/ready", timeout=LIMIT) as answer:
            return int(answer.status) == 200
        return False

    def get(self, path: str, **arguments: str) -> Any:
        query = urllib.parse.urlencode(arguments)
        with urllib.request.urlopen(f"{self._at}/api/v1/{path}?{query}", timeout=LIMIT) as answer:
            return json.load(answer)["data"]

    def values(self, query: str) -> list[float]:
        return [float(row["value"][1]) for row in self.get("query", query=query)["result"]]


@contextmanager
def prometheus(folder: Path, job: dict[str, Any]) -> Iterator[Prometheus]:
    """Run a Prometheus with a directory of its own. Its configuration is JSON, which is valid YAML."""
    port, file = free_port(), folder / "prometheus.yml"
    rules = [str(FOLDER / "alerts.yml")]
    every = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    file.write_text(json.dumps({"global": every, "rule_files": rules, "scrape_configs": [job]}))
    where = [f"--web.listen-address=127.0.0.1:{port}", f"--storage.tsdb.path={folder / 'data'}"]
    with (folder / "prometheus.log").open("w") as log:
        command = [program("prometheus"), f"--config.file={file}", *where]
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    try:
        it = Prometheus(port)
        until(it.is_ready)
        yield it
    finally:
        process.terminate()
        process.wait(LIMIT)


def as_asked(expression: str, targets: Sequence[str]) -> str:
    """Return the query as Grafana expands it, with all nodes selected and one scrape a second."""
    chosen = {"$__rate_interval": "5s", "$node": f"({'|'.join(targets)})", "$job": "(heronry)"}
    for name, value in chosen.items():
        expression = expression.replace(name, value)
    return expression


async def traffic(a: RunningNode, b: RunningNode) -> None:
    """Send messages, requests and jobs of each kind in a loop, until the task is canceled."""
    async with (
        mesh.connect(a.name, environ=a.environ) as here,
        mesh.connect(b.name, environ=b.environ) as there,
        there.subscribe(pattern="demo/#") as wanted,
        there.serve("sums") as sums,
        asyncio.TaskGroup() as beside,
    ):
        beside.create_task(read(wanted))
        beside.create_task(answer(sums))
        queue = here.queue("jobs")
        await queue.declare()
        async with queue.consume(prefetch=1) as jobs:
            for _ in range(10_000):
                await here.publish("demo/a", b"1")
                await here.publish("far/b", b"2", domain="far")
                await here.request("sums", b"2+2")
                with suppress(MeshError):
                    await here.request("nobody/is/here", b"", timeout=0.5)
                await queue.put(b"done")
                await queue.put(b"waits")
                async with await anext(jobs):
                    pass
                await asyncio.sleep(0.1)


async def read(messages: Any) -> None:
    async for _ in messages:
        pass


async def answer(requests: Any) -> None:
    async for request in requests:
        await request.reply(b"4")


@contextmanager
def under_traffic(a: RunningNode, b: RunningNode) -> Iterator[None]:
    """Run programs at both nodes during the block, in a thread with its own loop."""
    loop = asyncio.new_event_loop()
    task = loop.create_task(traffic(a, b))
    thread = threading.Thread(target=lambda: loop.run_until_complete(asyncio.wait([task])))
    thread.start()
    try:
        yield
        assert not task.done(), task
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(LIMIT)
        loop.close()


def test_each_query_of_the_dashboard_has_data_for_a_mesh_under_traffic(tmp_path: Path) -> None:
    program("prometheus")
    config = tmp_path / "mesh.toml"
    config.write_text('[http]\nlisten = "127.0.0.1:0"\n[[nodes.c.master]]\ndomains = ["far"]\n')
    options = ("--config", str(config))
    with (
        running("a", options=options) as a,
        running("b", beside=a, options=options) as b,
        running("c", beside=a, options=options) as c,
    ):
        targets = [node.it["http"].removeprefix("http://") for node in (a, b, c)]
        token = a.mesh("metrics", "--token").stdout.strip()
        job = {"job_name": "heronry", "authorization": {"credentials_file": token}}
        with (
            prometheus(tmp_path, {**job, "static_configs": [{"targets": targets}]}) as it,
            under_traffic(a, b),
        ):
            until(
                lambda: (
                    sorted(it.get("label/instance/values", **{"match[]": "mesh_node_info"}))
                    == sorted(targets)
                )
            )
            assert it.get("label/job/values", **{"match[]": "mesh_node_info"}) == ["heronry"]
            c.kill()
            missing = {
                (panel["title"], target["expr"])
                for panel in DASHBOARD["panels"]
                for target in panel["targets"]
            }

            def all_have_data() -> bool:
                for title, asked in sorted(missing):
                    found = it.values(as_asked(asked, targets))
                    if found and (title in MAY_BE_NOUGHT or any(value > 0 for value in found)):
                        missing.discard((title, asked))
                return not missing

            try:
                until(all_have_data, 2 * LIMIT)
            except AssertionError:
                pytest.fail(f"no data for {missing}")
            until(
                lambda: any(
                    alert["labels"]["alertname"] == "MeshNodeGone" for alert in it.get("alerts")["alerts"]
                )
            )
            rules = it.get("rules")["groups"][0]["rules"]
            assert {rule["name"]: rule["health"] for rule in rules} == dict.fromkeys(ALERTS, "ok")


def test_an_alert_fires_past_its_limit_and_not_at_it(tmp_path: Path) -> None:
    rules = (FOLDER / "alerts.yml").read_text()
    assert re.findall(r"alert: (\w+)", rules) == list(ALERTS)
    tests = []
    for name, (series, bad, well) in ALERTS.items():
        for value, fires in ((bad, 1), (well, 0)):
            firing = f'count(ALERTS{{alertname="{name}",alertstate="firing"}}) or vector(0)'
            expected = {"expr": firing, "eval_time": "9m", "exp_samples": [{"labels": "{}", "value": fires}]}
            given = [{"series": series, "values": f"{value}x20"}]
            tests.append({"interval": "1m", "input_series": given, "promql_expr_test": [expected]})
    file = tmp_path / "tests.yml"
    file.write_text(json.dumps({"rule_files": [str(FOLDER / "alerts.yml")], "tests": tests}))
    said = subprocess.run([program("promtool"), "test", "rules", file], capture_output=True, text=True)
    assert said.returncode == 0, said.stdout + said.stderr
