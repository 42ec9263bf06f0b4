"""The page of a report: complete, in one file, and safe with hostile names."""

import json
import re
from base64 import b64encode
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from datetime import timedelta
from functools import cache, partial
from hashlib import sha256
from html.parser import HTMLParser
from unittest.mock import patch

import pytest

from mesh.history.report import page as report_page
from mesh.history.report.charts.drawing import library
from mesh.history.report.facts import Facts
from mesh.history.report.figures import duration
from mesh.history.report.findings import findings, verdict
from mesh.history.report.page import SECTIONS, page
from mesh.history.report.sections.balance import balance
from mesh.history.report.sections.membership import membership
from mesh.history.report.sections.network import links as links_section
from mesh.history.report.sections.network import topics as topics_section
from mesh.history.report.sections.quality import capacity
from mesh.history.report.sections.section import LOW, Section
from tests.seeds import scenarios
from tests.spark.report.invented import empty, facts

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(1)>&lt;'\""
MOST_BYTES = 8_000_000  # bytes without Plotly
MOST_LIBRARY = 700_000  # bytes of Plotly
VOID = {"meta", "input", "br", "img"}


class Page(HTMLParser):
    """A parsed page: its tags, the rows of its tables by caption, and its scripts with data."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.data: dict[str, str] = {}
        self.text = ""
        self._open: list[str] = []
        self._id = ""
        self._rows: list[list[str]] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self._open.append(tag)
        if tag == "caption":
            self._rows = []
            self._caption = ""
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._rows[-1].append("")
        self._id = dict(attrs).get("id") or ""

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, tag
        if tag == "table":
            self.tables[self._caption] = self._rows

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "script":
            self.data[self._id] = self.data.get(self._id, "") + data
            return
        self.text += data
        if "caption" in self._open:
            self._caption += data
        elif self._rows and ("td" in self._open or "th" in self._open):
            self._rows[-1][-1] += data


BUILT: dict[int, list[Section]] = {}  # sections by the number of nodes


@cache
def written(count: int) -> str:
    """Return the page of `count` nodes with harmless names."""
    with patch.object(report_page, "SECTIONS", [partial(_built, count, build) for build in SECTIONS]):
        return page(facts(count))


def _built(count: int, build: Callable[[Facts], Section], made: Facts) -> Section:
    BUILT.setdefault(count, []).append(build(made))
    return BUILT[count][-1]


def part(build: Callable[[Facts], Section], of: Facts) -> Page:
    """Return the page of one section only.

    Most of the work of a whole page is in its charts.
    """
    return Page(str(build(of).body))


def without_library(text: str) -> Page:
    """Parse a page without the source of Plotly, which is long."""
    return Page(text.replace(library().packed, ""))


def read(of: Facts) -> Page:
    return without_library(page(of))


@cache
def calm(count: int) -> Page:
    """Return the parsed page of `count` nodes. Tests do not change it."""
    return without_library(written(count))


@pytest.mark.parametrize("count", scenarios([3, 1, 8, 9, 300]))
def test_every_section_is_there_with_how_to_read_it(count: int) -> None:
    made, seen = facts(count), calm(count)
    assert len(BUILT[count]) == len(SECTIONS)
    for section in BUILT[count]:
        assert section.title in seen.text and section.how in seen.text
        assert ("id", section.name) in seen.attributes
    assert all(finding.text in seen.text for finding in findings(made))
    assert "All times are UTC." in seen.text


def test_the_verdict_comes_first_and_sections_that_show_nothing_are_folded() -> None:
    text, nothing = written(3), page(empty())
    assert text.index(f'<p class="verdict">{verdict(facts(3))}</p>') < text.index('<dl class="headline">')
    assert '<details class="quiet">' not in text
    assert nothing.count('<details class="quiet"><summary><h2') >= len(SECTIONS) // 2


def test_the_tables_have_the_figures_that_the_facts_have() -> None:
    made = facts(3)
    tables = calm(3).tables
    header, *rows = tables["All nodes, the busiest first"]
    assert header[0] == "Node" and [row[0] for row in rows] == [node.name for node in made.nodes]
    assert [row[-1] for row in rows] == [str(node.deaths) for node in made.nodes]
    counters = tables["Counters of each boot of a node, to its end; exact after a clean stop"]
    told = {(row[0], row[1], row[3]): tuple(row[2:3] + row[4:8]) for row in counters[1:]}
    assert told == {
        (c.observer, c.node, str(c.observer_boot)): (
            "yes" if c.clean else "no",
            f"{c.sent:,}",
            f"{c.chosen:,}",
            f"{c.asked:,}",
            f"{c.answered:,}",
        )
        for c in made.counters
    }


def test_services_are_told_by_address_and_by_node() -> None:
    made = facts(3)
    rows = calm(3).tables["By address and node"][1:]
    assert len(rows) == len(made.services) and {row[1] for row in rows} == {
        "heron",
        "crane",
        "wren",
        "nobody",
    }
    told = [[f"{n:,}" for n in (s.requests, s.failed, s.lost, s.refused)] for s in made.services]
    assert [[row[2], *row[5:8]] for row in rows] == told
    (name,) = [name for name in calm(3).tables if name.endswith("addresses, the busiest first")]
    first, *others = calm(3).tables[name][1:]
    of_first = [service for service in made.services if service.address == first[0]]
    mean = sum((s.mean_ms or 0) * s.replies for s in of_first) / sum(s.replies for s in of_first)
    assert first[1:3] == [str(len(of_first)), f"{sum(s.requests for s in of_first):,}"]
    assert first[-1] == duration(mean / 1000)
    assert [first[5], *sorted(row[5] for row in others)] == ["0 %", "0 %", "0 %", "0 %", "10 %", "100 %"]
    for key in ("requests", "failures", "p50", "p99"):
        assert made.services[0].address in str(json.loads(calm(3).data[f"figure-{key}"]))


def test_a_link_of_which_no_line_says_anything_is_no_looser_than_the_loosest() -> None:
    made = facts(3)
    first, second, third, *others = made.links
    links = (
        replace(first, logged_in_share=None, lost=1),
        replace(second, logged_in_share=0.9),
        replace(third, logged_in_share=0.2),
        *(replace(link, logged_in_share=1.0, lost=0) for link in others),
    )
    rows = part(links_section, replace(made, links=links)).tables["Links that were not always up"]
    assert [row[-2] for row in rows[1:]] == ["20 %", "90 %", "-"]


def test_what_is_said_of_steady_nodes_and_of_what_they_carry_holds_for_one_that_came_late() -> None:
    made = facts(9)
    assert "7 nodes of 9 were up at the end, and never restarted." in part(membership, made).text
    seen = part(capacity, made)
    assert "handled, on average" in seen.text and "handled, on average" in seen.data["figure-capacity"]


def test_a_death_of_ten_seconds_shows_where_buckets_are_of_minutes() -> None:
    made, ten = facts(3), timedelta(seconds=10)
    first = made.lives[0]
    back = first.first_at + timedelta(hours=2)
    lives = (
        replace(first, last_at=back - ten, ended="dead", ended_at=back),
        replace(first, first_at=back, boot=2, ended="there", ended_at=None),
    )
    seen = part(membership, replace(made, lives=lives))
    drawn = json.loads(seen.data["figure-alive"])["data"][0]
    moments = [f"{when:%Y-%m-%d %H:%M:%S}" for when in (first.first_at, back - ten, back)]
    assert drawn["y"] == [1, 0, 1, 1] and drawn["x"][:3] == moments


def test_a_table_that_would_take_a_screen_of_a_telephone_can_be_folded_and_a_low_one_cannot() -> None:
    made = facts(3)
    for rows, is_folded in ((LOW, False), (LOW + 1, True)):
        topics = part(topics_section, replace(made, topics=made.topics[:rows]))
        assert ("details" in topics.tags, ("class", "fold") in topics.attributes) == (is_folded, is_folded)
        assert (("open", None) in topics.attributes) == is_folded
    assert f"Topics, the busiest first ({LOW + 1} rows)" in topics.text


def test_two_observers_of_one_name_have_a_row_each() -> None:
    made = facts(3)
    again = tuple(replace(row, observer_uuid="another") for row in made.balance if row.observer == "heron")
    tables = part(balance, replace(made, balance=made.balance + again)).tables
    rows = tables["Evenness of balancers, the least even first"]
    assert sorted(row[0] for row in rows[1:]) == ["crane", "heron", "heron", "wren"]


@pytest.mark.slow  # for its length
def test_a_table_that_is_too_long_says_how_much_more_there_is() -> None:
    made = facts(300)
    tables = calm(300).tables
    caption = next(caption for caption in tables if caption.startswith("Slowest links"))
    rows = tables[caption][1:]
    assert caption == f"Slowest links and {len(made.links) - len(rows):,} more"
    slowest = max(link.rtt_median_ms or 0 for link in made.links)
    assert rows[0][3] == f"{slowest:.0f} ms"


@pytest.mark.slow  # for its length
def test_all_nodes_are_in_their_table_so_that_any_of_them_can_be_found() -> None:
    rows = calm(300).tables["All nodes, the busiest first"][1:]
    assert len(rows) == 300


def test_where_there_is_nothing_it_is_said_in_words_and_nothing_is_drawn() -> None:
    seen = read(empty())
    assert ("class", "chart") not in seen.attributes and seen.tables == {}
    for words in (
        "No node has reported its load.",
        "No balancer had a choice",
        "No node was seen.",
        "No node flapped",
        "No node died or left.",
        "No link was seen.",
        "No queue grows.",
        "No master has accepted a message.",
        "No message was sent to an address.",
        "No clocks were compared",
        "There are no lines.",
    ):
        assert words in seen.text, words


def test_a_queue_from_which_nobody_takes_stands_as_such_in_the_table_with_what_comes_and_goes() -> None:
    seen = calm(3)
    assert "1 queue grows. 1 queue has messages without a consumer." in seen.text
    [row] = [row for row in seen.tables["Queues, the fastest growing first"] if row[1] == "queue/jobs"]
    assert row[2:6] == ["stranded", "0", "12", "310"] and row[8:] == ["0", "0.310", "0.280"]


@pytest.mark.slow  # for its length
def test_every_section_of_every_page_says_something_besides_how_to_read_it() -> None:
    for count in (1, 3, 300):
        assert calm(count).text
        assert all(len(section.body) > 20 for section in BUILT[count])
    assert all(len(build(empty()).body) > 20 for build in SECTIONS)


def _hostile(value: object) -> object:
    """Append an attempt at injection to each text of `value`, except texts that the report defines."""
    if isinstance(value, str):
        return f"{value}{EVIL}"
    if isinstance(value, tuple):
        return tuple(_hostile(item) for item in value)
    if isinstance(value, dict):
        return {_hostile(key): _hostile(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        ours = ("ended", "how", "verdict")
        names = [field.name for field in fields(value) if field.name not in ours]
        return replace(value, **{name: _hostile(getattr(value, name)) for name in names})
    return value


def hostile(count: int) -> Facts:
    made = facts(count)
    evil = _hostile(made)
    assert isinstance(evil, Facts)
    series = {measure: evil.series[measure + EVIL] for measure in made.series}
    return replace(evil, series=series, fares={name: evil.fares[name + EVIL] for name in made.fares})


@cache
def evil(count: int) -> Page:
    return read(hostile(count))


@pytest.mark.parametrize("count", scenarios([3, 20]))
def test_nothing_that_the_mesh_says_becomes_html_or_leaves_its_script(count: int) -> None:
    seen, bad = calm(count), evil(count)
    assert (bad.tags.count("script"), bad.tags.count("img")) == (seen.tags.count("script"), 0)
    assert sorted(set(bad.tags)) == sorted(set(seen.tags))
    assert not [name for name, _ in bad.attributes if name.startswith("on")]
    assert EVIL in bad.text


@pytest.mark.parametrize("count", scenarios([3, 20]))
def test_in_charts_names_are_escaped_for_plotly_which_reads_them_as_html(count: int) -> None:
    figures = {key: text for key, text in evil(count).data.items() if key.startswith("figure-")}
    assert len(figures) > 7
    for text in figures.values():
        assert not set("<>&") & set(text)
        drawn = json.loads(text)
        assert "&lt;/script&gt;" in str(drawn) or "alert" not in str(drawn)
        assert "<script" not in str(drawn) and "<img" not in str(drawn)


def test_no_script_runs_but_ours_and_nothing_is_fetched() -> None:
    text = written(3)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy.startswith("default-src &#x27;none&#x27;; script-src &#x27;sha256-")
    assert "script-src" in policy and "unsafe-eval" not in policy
    ours = text.replace(library().packed, "")
    assert not re.search(r"(src|href)=[\"']?(https?:|//)|@import|url\(", ours)


@pytest.mark.slow  # for its length
def test_a_page_of_three_hundred_nodes_is_small() -> None:
    assert len(written(300).encode()) - len(library().packed) < MOST_BYTES / 4


def test_a_page_carries_plotly_once_and_packed() -> None:
    text, it = written(3), library()
    assert text.count(it.packed) == 1 and len(it.packed) < MOST_LIBRARY
    assert it.text not in text and "Licensed under the MIT license" in it.text[:300]
    digest = b64encode(sha256(it.text.encode()).digest()).decode()
    assert f"sha256-{digest}" in text


def test_every_chart_has_words_for_those_who_do_not_see_it() -> None:
    seen = calm(3)
    charts = seen.attributes.count(("class", "chart"))
    labels = [value or "" for name, value in seen.attributes if name == "aria-label"]
    drawn = [label for label in labels if label.endswith(".") and len(label) > 30]
    assert charts == seen.attributes.count(("role", "img")) >= 10
    assert len(drawn) >= charts
    assert any("crane" in label for label in drawn)


def test_the_language_and_one_main_heading_are_there() -> None:
    seen = calm(3)
    assert ("lang", "en") in seen.attributes
    assert (seen.tags.count("h1"), seen.tags.count("main"), seen.tags.count("title")) == (1, 1, 1)
    targets = {(value or "")[1:] for name, value in seen.attributes if name == "href"}
    assert targets <= {value for name, value in seen.attributes if name == "id"}
