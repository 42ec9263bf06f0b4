"""HTML of a report: texts are shown and never become markup."""

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from mesh.history.report.markup import Html, html, raw, table, tag

EVIL = "<script>alert(1)</script>\"'&<img src=x onerror=alert(1)>"


class Reader(HTMLParser):
    """The tags, attributes and text that a browser finds in a piece of HTML."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: dict[str, str | None] = {}
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= dict(attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.text())
def test_text_and_attributes_come_out_as_they_went_in(text: str) -> None:
    text = text.replace("\r", "")  # HTML does not keep this character
    seen = Reader(tag("p", text, title=text))
    assert (seen.tags, seen.text, seen.attributes) == (["p"], text, {"title": text})


def test_only_what_is_html_already_is_left_alone() -> None:
    assert html(EVIL) == html([EVIL]) == html(iter([EVIL]))
    assert "<script" not in html(EVIL)
    assert html(tag("b", "x")) == "<b>x</b>"
    assert html([raw("<i>"), None, 7]) == "<i>7"
    assert isinstance(html(EVIL), Html)


def test_attributes_that_are_none_or_false_are_left_out() -> None:
    assert tag("input", type="search", hidden=True, id=None, disabled=False) == '<input type="search" hidden>'
    assert tag("a", class_="skip", aria_label="x") == '<a class="skip" aria-label="x"></a>'


def test_a_table_has_a_caption_and_heads_for_its_columns_and_rows() -> None:
    seen = Reader(table("Nodes", ["Node", "Load"], [[EVIL, "1"], ["wren", "2"]], label="Nodes"))
    assert [seen.tags.count(name) for name in ("table", "caption", "th", "td", "script", "img")] == [
        1,
        1,
        4,
        2,
        0,
        0,
    ]
    assert EVIL in seen.text
