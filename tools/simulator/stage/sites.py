"""The view that each site has of the others, and the check that it is correct."""

from __future__ import annotations

from collections.abc import Iterator

from mesh.features.sites.model.views import SiteView
from mesh.features.sites.node.parts import SiteParts
from mesh.wire.calls import AskSiteSync
from tools.simulator.history import Event
from tools.simulator.stage.scene import Scene, Steps


class Sites:
    """The sites of a scene, and the steps that concern them."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._places = {place.name: place for place in scene.script.cast.sites}
        self._seen: dict[tuple[str, str], SiteView] = {}

    @property
    def steps(self) -> Steps:
        return {"sync": self._sync}

    def _sync(self, node: str, site: str) -> None:
        """Let a node request that retained values are sent to another site."""
        it = self._scene.nodes[node]
        if it.is_up and not it.is_stopped:
            it.asks(AskSiteSync(site=site), lambda reply: self._scene.history.met("a transfer wished"))

    def _views(self) -> Iterator[tuple[str, SiteView]]:
        for place in self._places.values():
            for name in place.gateways:
                node = self._scene.nodes[name]
                if node.is_up and not node.is_stopped and node.core.parts[SiteParts].gateways is not None:
                    for view in node.core.parts[SiteParts].gateways.views.all():
                        yield name, view

    def sample(self) -> None:
        """Record views that have changed, and count losses and returns of sites."""
        for who, view in self._views():
            before = self._seen.get((who, view.site))
            if before is None or (before.state, before.members) != (view.state, view.members):
                self._seen[who, view.site] = view
                self._tell("sees", who, view)
                if before is not None and before.state != view.state:
                    self._scene.history.met("a site seen again" if view.state == "up" else "a site lost")

        lost = {view.site for view in self._seen.values() if view.state != "up"}
        nodes = [node for node in self._scene.nodes.values() if node.is_up] if lost else []
        if any(node.core.parts.context.figures()["site_pending"] for node in nodes):
            self._scene.history.met("something waited while a site was lost")

    def have_met(self) -> bool:
        """Return whether a gateway of each site sees all nodes of each site that it knows."""
        homes = {node: place.name for place in self._places.values() for node in place.gateways}
        met = {
            (homes[who], v.site) for who, v in self._views() if {*v.members} == {*self._places[v.site].nodes}
        }
        return met >= {(place.name, to) for place in self._places.values() for to in place.knows}

    def end(self) -> None:
        for who, view in self._views():
            self._tell("saw", who, view)

    def _tell(self, kind: str, who: str, view: SiteView) -> None:
        boot = self._scene.nodes[who].disk.boot
        what = Event(self._scene.net.now, kind, who, boot, to=view.site, text=view.state, keys=view.members)
        self._scene.history.add(what)
