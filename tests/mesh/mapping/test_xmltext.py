"""Text in XML, which a parser reads as it was written."""

import pytest
from lxml import etree

from mesh.mapping.xmltext import attribute, content

ODD = ["", "heron", "a<b>&amp;c", "\"both' quotes", "tab\tline\nend\r", "ünïcödé \U0001f426", "]]>"]


@pytest.mark.parametrize("text", ODD)
def test_a_reader_finds_in_an_attribute_what_was_written(text: str) -> None:
    assert etree.fromstring(f"<a b={attribute(text, instead='?')}/>").get("b") == text


@pytest.mark.parametrize("text", [text for text in ODD if "\r" not in text])
def test_a_reader_finds_between_tags_what_was_written(text: str) -> None:
    assert (etree.fromstring(f"<a>{content(text, instead='?')}</a>").text or "") == text


@pytest.mark.parametrize("text", ["\0", "\x1b", "\ud800", "\uffff"])
def test_what_xml_cannot_hold_is_replaced(text: str) -> None:
    assert attribute(f"a{text}", instead="?") == '"a?"' and content(f"a{text}", instead="?") == "a?"
