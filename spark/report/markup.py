"""HTML without injection: all text from outside is escaped.

Rule: anything but `Html` is text, and is escaped. Other modules only join `Html` that is made here.
"""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def raw(text: str) -> Html:
    """Return `text` as HTML without escaping it.

    Pass only text of this program, or text from outside that is already escaped for its place.
    """
    return Html(text)


def html(content: Any) -> Html:
    """Return the HTML of a text, or of several pieces one after the other; None yields nothing."""
    if content is None:
        return Html()
    if isinstance(content, Html):
        return content
    if isinstance(content, str):
        return Html(escape(content))
    if isinstance(content, Iterable):
        return Html("".join(html(piece) for piece in content))
    return Html(escape(str(content)))


SHORT = 42  # characters
EMPTY = ("meta", "input")


def tag(name: str, /, *content: Any, **attributes: Any) -> Html:
    """Return an element.

    `class_` becomes class, `aria_label` aria-label. Attributes that are None or False are left out.
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in EMPTY:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{html(content)}</{name}>")


def _attribute(key: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    key = key.rstrip("_").replace("_", "-")
    return f" {key}" if value is True else f' {key}="{escape(str(value))}"'


def table(
    caption: Any, header: Sequence[str], rows: Sequence[Sequence[Any]], words: int = 1, *, label: str
) -> Html:
    """Return a table in which the first column names the row.

    The first `words` columns contain text, the others figures. `label` is the accessible name of the table's
    box, which can be scrolled by keyboard. Each cell but the first includes the title of its column for
    narrow screens, where each row is a card.
    """
    sides = ["word" if column < words else None for column in range(len(header))]
    titles = [tag("th", title, scope="col", class_=side) for title, side in zip(header, sides, strict=True)]
    body = [tag("tr", _row(row, header, sides)) for row in rows]
    whole = tag(
        "table",
        tag("caption", tag("span", caption, class_="text")),
        tag("thead", tag("tr", titles)),
        tag("tbody", body),
    )
    return tag("div", whole, class_="wide", tabindex="0", role="region", aria_label=label)


def _row(row: Sequence[Any], header: Sequence[str], sides: Sequence[str | None]) -> Iterator[Html]:
    first, *rest = zip(row, header, sides, strict=True)
    yield tag("th", first[0], scope="row", class_=_side(first[0], first[2]))
    for cell, title, side in rest:
        yield tag("td", cell, data_column=title, class_=_side(cell, side))


def _side(cell: Any, side: str | None) -> str | None:
    """Return the class of a cell, by which a short text stays on one line if it fits."""
    return f"{side} short" if side and len(str(cell)) <= SHORT else side
