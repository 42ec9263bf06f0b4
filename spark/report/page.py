"""The report as a single HTML file that loads nothing."""

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files

from mesh.history.report.charts.drawing import library
from mesh.history.report.facts import Facts
from mesh.history.report.figures import counted, moment, number
from mesh.history.report.findings import findings, verdict
from mesh.history.report.findings.finding import RANKS, Finding
from mesh.history.report.headline import Figure, headline, name, span
from mesh.history.report.markup import Html, html, raw, tag
from mesh.history.report.sections.balance import balance
from mesh.history.report.sections.load import load
from mesh.history.report.sections.membership import detection, membership
from mesh.history.report.sections.network import links, queues, topics
from mesh.history.report.sections.quality import capacity, clocks, quality
from mesh.history.report.sections.section import Section
from mesh.history.report.sections.services import services

SECTIONS = (load, balance, membership, detection, links, queues, topics, services, capacity, clocks, quality)


def page(facts: Facts) -> str:
    """Return the HTML of the report."""
    sections = [section(facts) for section in SECTIONS]
    title = name(facts)
    style, script = _own("page.css"), _own("page.js")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(library().text, script)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", raw(style)),
    )
    titles = {section.name: section.title for section in sections}
    body = tag(
        "body",
        tag("a", "Skip to the report", href="#main", class_="skip"),
        _header(title, facts),
        _contents(sections),
        tag(
            "main",
            tag("p", verdict(facts), class_="verdict"),
            _headline(headline(facts)),
            _findings(findings(facts), titles),
            map(_section, sections),
            id="main",
        ),
        _footer(facts),
        tag("script", raw(library().packed), type="text/plain", id="library"),
        tag("script", raw(script)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _own(file: str) -> str:
    return files("mesh.history.report").joinpath(file).read_text(encoding="utf-8")


def _policy(*scripts: str) -> str:
    """Return a policy that permits only this page's scripts and no requests, as a second defense."""
    hashes = " ".join(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in scripts)
    return f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:"


def _header(title: str, facts: Facts) -> Html:
    lines = counted(sum(facts.kinds.values()), "line")
    made = f"{counted(len(facts.nodes), 'node')} · {span(facts)} · {lines} · made {moment(facts.made_at)} UTC"
    toggle = tag("button", type="button", class_="theme", hidden=True)
    return tag("header", tag("div", tag("h1", title), tag("p", made, class_="made")), toggle)


def _contents(sections: list[Section]) -> Html:
    links = [tag("li", tag("a", section.title, href=f"#{section.name}")) for section in sections]
    return tag("nav", tag("ul", links), aria_label="Contents")


def _headline(figures: list[Figure]) -> Html:
    return tag("dl", map(_figure, figures), class_="headline")


def _figure(figure: Figure) -> Html:
    size = "value text" if figure.is_text else "value"
    told = tag("dd", tag("span", figure.value, class_=size)), tag("dd", figure.note, class_="note")
    return tag("div", tag("dt", figure.label), told)


def _findings(found: list[Finding], titles: Mapping[str, str]) -> Html:
    items = [
        tag(
            "li",
            tag("span", RANKS[finding.rank], class_=f"rank {finding.rank}"),
            tag("span", finding.text, " ", tag("a", titles[finding.about], href=f"#{finding.about}")),
        )
        for finding in found
    ]
    return tag(
        "section",
        tag("h2", "Findings"),
        tag("ul", items, class_="findings") if items else tag("p", "There is no data to judge."),
        id="findings",
    )


def _section(section: Section) -> Html:
    title = tag("h2", section.title, id=f"{section.name}-title")
    told = tag("p", section.how, class_="how"), section.body
    has_news = "<figure" in section.body or "<table" in section.body
    return tag(
        "section",
        (title, *told) if has_news else tag("details", tag("summary", title), told, class_="quiet"),
        id=section.name,
        aria_labelledby=f"{section.name}-title",
    )


def _footer(facts: Facts) -> Html:
    return tag(
        "footer",
        html(f"All times are UTC. Made by Heronry from {number(sum(facts.kinds.values()))} lines; "),
        "this file loads nothing from the network.",
    )
