"""The XML of a key: parsed within its limits, and refused by name beyond them."""

import pytest

from mesh.errors import BadXml
from mesh.mapping.cost import ELEMENTS, LEVELS
from mesh.mapping.keyxml import ATTRIBUTES, Document, KeyXPath, check_xml
from mesh.wire.limits import KEY_XML

BOMB = '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>&b;'
GOOD = [
    "",
    "text",
    "<a/>",
    "<a x='1'/>text<b/>",
    "<a><![CDATA[<b>&]]></a>",
    "&lt;&#65;&amp;",
    "<!-- a note --><a/>",
    "<x:a xmlns:x='urn:x'/>",
    "<a>" * (LEVELS - 1) + "</a>" * (LEVELS - 1),
    "<a/>" * (ELEMENTS - 1),
    "<a q='1'/>" * 255,
    "é" * (KEY_XML // 2),
    "a" * KEY_XML,
]


@pytest.mark.parametrize("xml", GOOD, ids=lambda xml: xml[:30])
def test_what_is_well_formed_and_small_is_taken(xml: str) -> None:
    assert check_xml(xml) == xml
    assert KeyXPath("/key").matches(Document("k", "d", xml))


BAD = {
    "<a>": "malformed at line 1, column 10",
    "</key><key>": "malformed",
    "</key>": "malformed",
    "<a b=1/>": "malformed",
    "\n<a><b></a>": "malformed at line 2",
    "&unknown;": "malformed",
    "<x:a/>": "malformed",
    BOMB: "'<!DOCTYPE'",
    "<a/><!DOCTYPE key SYSTEM 'file:///etc/passwd'>": "'<!DOCTYPE'",
    "<!ENTITY x 'y'>": "'<!ENTITY'",
    "<?xml version='1.0'?><a/>": "'<?'",
    "<key oid='x'/>": "contains <key>",
    "a\x00b": "invalid character",
    "a\ud800b": "invalid character",
    "a\ufffe": "invalid character",
    "<a/>" * ELEMENTS: "256 elements",
    "<a b='1' c='2'/>" * 129: f"the limits are 255 and {ATTRIBUTES}",
    "<a>" * LEVELS + "</a>" * LEVELS: "17 levels, with <key> itself; the limit is 16",
    "a" * (KEY_XML + 1): "16,385 bytes",
    "é" * (KEY_XML // 2 + 1): "16,386 bytes",
    "a" * 10_000_000: "10,000,000 bytes",
    "<a>" * 5000 + "</a>" * 5000: "bytes",
}


@pytest.mark.parametrize(("xml", "says"), BAD.items(), ids=lambda text: text[:30])
def test_all_else_is_refused_by_name(xml: str, says: str) -> None:
    with pytest.raises(BadXml) as refused:
        check_xml(xml)
    assert says in str(refused.value) and len(str(refused.value)) < 500


@pytest.mark.parametrize("key", ["a&b", "<a>", "a\"b'c", "a\ufffeb", "ключ", "a/b/c"])
def test_whatever_the_key_it_is_an_attribute(key: str) -> None:
    document = Document(key, "a<b")
    assert (
        document.root.get("oid") == key.replace("\ufffe", "\ufffd") and document.root.get("domain") == "a<b"
    )
    assert KeyXPath("//key[@oid and @domain]").matches(document)
    assert not KeyXPath("//key[@domain]").matches(Document(key))


def test_in_what_is_no_xml_nothing_is_found() -> None:
    """A publisher of such XML is refused, but a member could send it as a retained value."""
    for xml in ("<a>", "<a></b>", "</key>", "&none;"):
        assert not KeyXPath("//a").matches(Document("k", "", xml))
        assert not KeyXPath("not(//b)").matches(Document("k", "", xml))
