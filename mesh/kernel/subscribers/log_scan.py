"""Reads the log for sessions that moved: one scan serves all questions at the same positions."""

# Law 1: a page has the matches of one query, in the order of the log, and the position of the next page.
# Law 2: the pages of one reply end together when their envelopes fill one message. The first one always fits.
# Law 3: the oldest page is served next, and each has at most READS. Others at its positions share its reads.

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from mesh.errors import MeshError
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.node_output import NodeOutput
from mesh.operations import Span
from mesh.routing.querytrie import QueryTrie
from mesh.wire.commands import Query
from mesh.wire.envelope import LOCAL_ONLY, TAILED, Envelope
from mesh.wire.frames import body_frames
from mesh.wire.limits import ENVELOPES_A_MESSAGE, MIB

PAGE = ENVELOPES_A_MESSAGE  # envelopes of one read, and of one reply
READS = 16  # reads for one page


@dataclass(slots=True, eq=False)
class Page:
    """A page that is being read: the matches from `at` up to the position `end`.

    Afterwards the next page begins at `at`.
    """

    query: Query
    at: int
    end: int
    reads: int = 0
    envelopes: list[Envelope] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """True if no page follows."""
        return self.at > self.end


@dataclass(slots=True, eq=False)
class PageSet:
    """The pages of one reply. `then` is called once, when all are read."""

    is_own: bool  # for this node
    then: Callable[[], None]
    pages: list[Page] = field(default_factory=list)
    full_at: int = 0  # position of the first envelope without room
    _frames: int = 0
    _bytes: int = 0

    def is_over(self, page: Page) -> bool:
        return page.is_complete or page.reads >= READS or self.full_at > 0

    def add_envelope(self, page: Page, position: int, envelope: Envelope) -> None:
        """Add an envelope to one of the pages, unless the reply is full."""
        if self.full_at:
            return
        is_first = not self._frames
        self._frames += 1 + body_frames(envelope)
        self._bytes += len(envelope.body)
        if not is_first and (self._frames > 2 * ENVELOPES_A_MESSAGE or self._bytes > MIB):
            self.full_at = position
            return
        page.envelopes.append(envelope)
        page.positions.append(position)

    def end_read(self, page: Page, following: int) -> None:
        """Let a page continue at `following`, or where the reply was full."""
        page.reads += 1
        if self.full_at:
            has_it = page.positions[-1:] == [self.full_at]
            following = self.full_at + has_it
        page.at = max(page.at, min(following, page.end + 1))


class LogScan:
    """A scan that goes on as long as pages are requested. It begins at the end of an event."""

    def __init__(self, out: NodeOutput, disk: Disk) -> None:
        self._out = out
        self._disk = disk
        self._new: list[PageSet] = []
        self._sets: dict[PageSet, dict[int, Page]] = {}  # pages that are not over, by number
        self._open: dict[int, tuple[PageSet, Page]] = {}  # the same pages, the oldest first
        self._queries: dict[str, QueryTrie[int]] = {}  # of the same pages, by domain
        self._count = self._last = 0  # of all pages; the last position of any
        self._is_reading = False

    def add_pages(self, pages: PageSet) -> None:
        self._new.append(pages)
        self._out.ending[self._begin] = None

    def _begin(self) -> None:
        new, self._new = self._new, []
        for pages in new:
            self._sets[pages] = {}
            for page in pages.pages:
                self._add_page(pages, page)
        self._close_sets(new)
        if not self._is_reading:
            self._read_on()

    def _add_page(self, pages: PageSet, page: Page) -> None:
        self._count += 1
        self._sets[pages][self._count] = page
        self._open[self._count] = pages, page
        self._queries.setdefault(page.query.domain, QueryTrie()).add(page.query, self._count)
        self._last = max(self._last, page.end)

    def _read_on(self) -> None:
        """Read at the position of the oldest page, and half a read before it if others begin there."""
        self._is_reading = bool(self._open)
        if self._open:
            _, oldest = next(iter(self._open.values()))
            first = min(page.at for _, page in self._open.values() if page.at > oldest.at - PAGE // 2)
            span = Span(first, self._last, PAGE)
            self._disk.fetch(span, partial(self._on_read, span))

    def _on_read(self, span: Span, found: dict[int, Envelope] | MeshError) -> None:
        if isinstance(found, MeshError):
            return  # the store has failed, and the node stops
        following = span.last + 1 if len(found) < PAGE else max(found) + 1
        served = {n: of for n, of in self._open.items() if span.first <= of[1].at < following}
        for position, envelope in found.items():
            for number, part in parts(envelope, self._queries).items():
                if number in served:
                    pages, page = served[number]
                    is_kept = envelope.flags & LOCAL_ONLY and not pages.is_own
                    if page.at <= position <= page.end and not is_kept:
                        pages.add_envelope(page, position, part)
        for pages, page in served.values():
            pages.end_read(page, following)
        self._close_sets(dict.fromkeys(pages for pages, _ in served.values()))
        self._read_on()

    def _close_sets(self, sets: Iterable[PageSet]) -> None:
        """Remove the pages that are over, and finish the replies that have no others."""
        for pages in sets:
            left = self._sets[pages]
            for number in [number for number, page in left.items() if pages.is_over(page)]:
                query = left.pop(number).query
                self._queries[query.domain].discard(query, number)
                del self._open[number]
            if not left:
                del self._sets[pages]
                pages.then()


def parts(envelope: Envelope, queries: Mapping[str, QueryTrie[int]]) -> dict[int, Envelope]:
    """Return the messages of a stored envelope that match each query, by the number of the query.

    `queries` has the queries of each domain.
    """
    if envelope.to or envelope.flags & TAILED:
        return {}
    rows: dict[int, list[int]] = {}
    tries = [queries.get(domain) for domain in (("", envelope.domain) if envelope.domain else ("",))]
    for trie in filter(None, tries):
        for row, key in enumerate(envelope.keys):
            for number in trie.match(key, envelope.domain, envelope.xml):
                rows.setdefault(number, []).append(row)
    if len(envelope.keys) == 1:
        return dict.fromkeys(rows, envelope)
    cut = {wanted: _cut(envelope, wanted) for wanted in {*map(tuple, rows.values())}}
    found = ((number, cut[tuple(wanted)]) for number, wanted in rows.items())
    return {number: part for number, part in found if part is not None}


def _cut(envelope: Envelope, wanted: tuple[int, ...]) -> Envelope | None:
    if len(wanted) == len(envelope.keys):
        return envelope
    indices = [i for i, row in enumerate(envelope.rows()) if row in wanted]
    return envelope.cut(indices) if indices else None
