"""A feature of another distribution, on a real node: verbs, a fact, a sink, rows and figures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mesh.running import RunningNode, running

NODE = '''
from dataclasses import dataclass

import click

from mesh import sync
from mesh.kernel.context.component import Beginning, Component, on_command
from mesh.kernel.context.facts import Fact, on_fact
from mesh.kernel.context.incoming_call import IncomingCall, answer
from mesh.kernel.feature import Feature, FeatureParts
from mesh.operations import Put
from mesh.wire.calls import Ask
from mesh.wire.command import Command, command
from mesh.wire.replies import ReplyValue

TABLE, ROW = "kept", b"waving/waves"


@command
class Wave(Command, frozen=True, tag=120):
    times: int


class AskWave(Ask, frozen=True, kw_only=True):
    verb = "wave"
    times: int


class Waves(ReplyValue, frozen=True, kw_only=True):
    waves: int
    published: int


@dataclass(frozen=True)
class Waved(Fact):
    times: int


class Waving(Component):
    def __init__(self, context, disk):
        self._context, self._disk = context, disk
        self.waves = self.published = 0

    def start(self, beginning: Beginning) -> None:
        self.waves = int.from_bytes(beginning.rows(TABLE).get(ROW, b""))

    def from_clients(self):
        return (on_command(Wave, self._on_wave),)

    def _on_wave(self, conn, session, wave, envelopes):
        self._context.facts.publish_fact(Waved(wave.times))

    def client_verbs(self):
        return (answer(AskWave, self._wave),)

    def fact_handlers(self):
        return (on_fact(Waved, self._on_waved),)

    def message_sinks(self):
        return (self,)

    def figures(self):
        return {"waves": self.waves}

    # --- a sink that only counts

    def plan(self, envelope):
        self.published += envelope.count
        return []

    def match(self, key, domain):
        return []

    def names(self, key, domain):
        return []

    def _wave(self, asked: IncomingCall[AskWave]) -> None:
        self._context.facts.publish_fact(Waved(asked.ask.times))
        asked.reply(Waves(waves=self.waves + asked.ask.times, published=self.published))

    def _on_waved(self, fact: Waved) -> None:
        self.waves += fact.times
        self._disk.later(TABLE, ROW, Put(TABLE, ROW, self.waves.to_bytes(4)))


class WavingParts(FeatureParts):
    def __init__(self, k):
        super().__init__(Waving(k.context, k.disk))


feature = Feature("waving", WavingParts, after=("queues",))


@click.command("wave")
@click.argument("times", type=int)
def wave(times):
    """Wave to the node."""
    with sync.connect() as m:
        found = m.call("wave", times=times)
    print(f"{found['waves']} waves, {found['published']} published")
'''


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install the distribution for the processes of the test."""
    (tmp_path / "heronry_waving.py").write_text(NODE)
    info = tmp_path / "heronry_waving-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: heronry-waving\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[mesh.features]\nwaving = heronry_waving:feature\n[mesh.commands]\nwave = heronry_waving:wave\n"
    )
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH", ""))))
    monkeypatch.setenv("PYTHONPATH", path)
    yield


def waved(node: RunningNode, times: int) -> str:
    result = node.mesh("wave", str(times))
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


@pytest.mark.slow
def test_a_feature_of_another_distribution_works_and_its_rows_survive_a_restart(plugin: None) -> None:
    with running("heron") as heron:
        assert waved(heron, 3) == "3 waves, 0 published\n"
        assert heron.mesh("pub", "news", "x").returncode == 0
        assert waved(heron, 4) == "7 waves, 1 published\n"
        assert "waves" in heron.mesh("info").stdout
        heron.stop()
        heron.start()
        assert waved(heron, 1) == "8 waves, 0 published\n"
