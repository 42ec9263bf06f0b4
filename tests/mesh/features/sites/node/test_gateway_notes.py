"""Each change of the gateways to a site is reported once, with the gateways that lost messages."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from mesh.features.sites.model.stores import note
from mesh.features.sites.node.facts import ExitsChanged
from mesh.features.sites.node.gateway_notes import GatewayNotes
from mesh.kernel.context.facts import Fact
from mesh.site_policy.site_settings import SiteSettings

GULL, GREBE = b"g" * 16, b"h" * 16
STORES = [(b"s" * 16, 1)]


class Site:
    """NYC with gateways, whose losses a test counts."""

    def __init__(self, **losses: int) -> None:
        self.facts: list[Fact] = []
        self.losses = {GULL: losses.get("gull"), GREBE: losses.get("grebe")}
        context = SimpleNamespace(
            facts=SimpleNamespace(publish_fact=self.facts.append),
            settings=SimpleNamespace(site=SiteSettings(relays=8)),
        )
        self.notes = GatewayNotes(cast(Any, context), cast(Any, self))
        self.notes.read_notes("NYC")

    def announced(self, site: str) -> dict[bytes, bytes]:
        return {uuid: note(n, STORES) for uuid, n in self.losses.items() if n is not None}

    def reported(self) -> list[set[bytes]]:
        """Read the notes twice, and return the lost gateways of each report."""
        self.notes.read_notes("NYC")
        self.notes.read_notes("NYC")
        found, self.facts[:] = [set(fact.lost) for fact in self.facts if isinstance(fact, ExitsChanged)], []
        return found


@pytest.mark.parametrize(
    ("before", "now", "lost"),
    [
        ({"gull": 0}, {"gull": 0}, []),
        ({"gull": 0}, {"gull": 1}, [{GULL}]),
        ({"gull": 0}, {}, [{GULL}]),
        ({"gull": 0}, {"gull": 0, "grebe": 5}, [set()]),
        ({"gull": 0, "grebe": 5}, {"gull": 2, "grebe": 6}, [{GULL, GREBE}]),
    ],
)
def test_a_change_is_reported_once(
    before: dict[str, int], now: dict[str, int], lost: list[set[bytes]]
) -> None:
    site = Site(**before)
    site.facts.clear()
    site.losses = Site(**now).losses
    assert site.reported() == lost
    assert set(site.notes.notes_of("NYC")) == {uuid for uuid, n in site.losses.items() if n is not None}


def test_a_gateway_that_logged_out_has_lost_everything() -> None:
    site = Site(gull=0, grebe=0)
    site.facts.clear()
    site.notes._logged_out(GULL)
    assert site.facts == [ExitsChanged("NYC", frozenset({GULL}))]
    assert site.notes.choose_gateway("NYC", b"stream") == GREBE
    site.notes._logged_out(GREBE)
    assert site.notes.choose_gateway("NYC", b"stream") is None and not site.notes.notes_of("NYC")
