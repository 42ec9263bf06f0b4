"""Pauses other sites.

A pause is a shared row, which all nodes have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mesh.errors import LocalError
from mesh.features.sites.node.facts import PauseChanged
from mesh.kernel.context.component import Component
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.incoming_call import IncomingCall, Right, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.peer import Peer
from mesh.kernel.sharing.shared import RowKind, Shared
from mesh.names import node_name
from mesh.reasons.reason import reason
from mesh.reasons.what import SITE, What
from mesh.shared.row import SharedRow
from mesh.wire.calls import AskSitePause
from mesh.wire.replies import Reason, SitePaused

PAUSES = "site"  # kind of rows and events
PAUSED = b"paused"
MOST = 1024  # paused sites, whatever other nodes report

# Law: a pause holds at every node, including nodes that were disconnected or start later. It loses no waiting
# message, and messages already sent get their answers. A paused neighbor also pauses the sites behind it.


class Pausing(Component):
    """Component that pauses and resumes sites.

    Rows from other nodes may pause sites that this node does not know.
    """

    def __init__(self, context: NodeContext, disk: Disk, shared: Shared) -> None:
        self._context = context
        self._disk = disk
        self._shared = shared
        self._rows: dict[str, bool] = {}  # paused sites
        shared.add(RowKind(PAUSES, self._check, self._on_row_changed))

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskSitePause, self._on_pause, Right.RUN),)

    def is_paused(self, site: str) -> bool:
        """Return whether the site, or the neighbor through which it is reached, is paused."""
        return bool(self._paused(site))

    def why_paused(self, site: str) -> str:
        """Return why the site is paused, with the command that resumes it, or "".

        The text is also sent to other sites.
        """
        paused = self._paused(site)
        if not paused:
            return ""
        here = self._context.settings.site.name or self._context.me.name
        named = paused if paused == site else f"{paused}, and so for {site}"
        return f"{here} has paused messages for {named} (`mesh relay resume {paused}` in {here})"

    def _paused(self, site: str) -> str:
        way = self._context.settings.site.ways.get(site, "")
        return next((each for each in (site, way) if self._rows.get(each)), "")

    def explain(self, what: What) -> Iterator[Reason]:
        if what.kind == SITE and (paused := self._paused(what.text)):
            yield reason("SITE_PAUSED", site=paused)

    def _on_pause(self, asked: IncomingCall[AskSitePause]) -> None:
        """Pause or resume a site, and reply when the change is on disk. A repeated call changes nothing.

        A paused site can be resumed even if no node has it in its configuration any more.
        """
        site, pause = asked.ask.site, asked.ask.pause
        is_known = site in self._context.settings.site.ways
        if not is_known and (pause or site not in self._rows):
            what = f"{self._context.me.name} does not know the site {site[:64]!r}."
            raise LocalError(what, hint="See `mesh relay ls`.", code="UNKNOWN_SITE")
        is_news = self._rows.get(site, False) != pause
        if is_news:
            self._shared.write_row(PAUSES, site, self._shared.stamp(PAUSES, site), PAUSED if pause else b"")
            done = "is paused" if pause else "is resumed"
            self._context.event(PAUSES, f"{site} {done} by {asked.doer}")
        said = SitePaused(changed=is_news)
        self._disk.commit_if_any(lambda error: asked.reply(said) if error is None else None)

    def _check(self, row: SharedRow) -> None:
        node_name(row.name)
        if row.value not in (b"", PAUSED):
            raise LocalError(
                f"The row of the site {row.name} has the invalid value {row.value[:40]!r}.", code="BAD_ROW"
            )
        if row.value and row.name not in self._rows and len(self._rows) >= MOST:
            what = f"{len(self._rows):,} sites are paused in this mesh; the limit is {MOST:,}."
            hint = "Resume some: `mesh relay resume SITE`."
            raise LocalError(what, hint=hint, code="TOO_MANY_ROWS")

    def _on_row_changed(self, row: SharedRow, by: Peer | None) -> None:
        if row.value:
            self._rows[row.name] = True
        else:
            self._rows.pop(row.name, None)
        behind = [site for site, way in self._context.settings.site.ways.items() if way == row.name != site]
        for site in (row.name, *behind):
            self._context.facts.publish_fact(PauseChanged(site))
