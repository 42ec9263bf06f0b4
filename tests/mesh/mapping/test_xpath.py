"""XPaths: harmless ones give the same results as lxml, and others are refused by name before they run."""

import re
from random import Random

import pytest
from lxml import etree

from mesh.errors import BadXPath
from mesh.mapping.cost import MOST, MOST_TOGETHER, check_together, needed, price, reads_key
from mesh.mapping.keyxml import Document, KeyXPath, asked, check_xml
from mesh.mapping.xpath import LONGEST, read
from tests.seeds import scenarios
from tools.compare_xpaths import differs, pairs
from tools.models import xpaths

SEEDS = ["//STOCK_EXCHANGE", " //STOCK_EXCHANGE ", "//STOCK", "//RUGBY"]  # all XPaths of the seeds
STOCK = "<STOCK name='IBM' price='102'><bid>101</bid><ask>103</ask></STOCK>"
TRUE = [
    *SEEDS[2:3],
    "/key",
    "/key/STOCK",
    "//STOCK[@name='IBM']",
    "//key[@oid='ibm']",
    "/key[@domain='NEWS']/STOCK",
    "//STOCK/bid < //STOCK/ask",
    "//STOCK[bid=101 and not(bond)]",
    "count(//STOCK/*) = 2",
    "//BOND | //STOCK",
    "//bid/../ask",
    "//STOCK[2] or //STOCK[last()]",
    "contains(//STOCK/@name, 'B')",
    "//bid[text()='101']",
    "starts-with(//ask, '10')",
    "string-length(//bid) = 3",
    "normalize-space(//bid) != ''",
    "//*[position()=2]",
    "not(//BOND)",
    "true()",
    "//STOCK[@price >= 102]",
    ".",
    "self | //STOCK",
    "//STOCK[bid > 100][1]/ask",
]
FALSE = [
    "//BOND",
    "/STOCK",
    "//stock",
    "//STOCK[@name='SAP']",
    "//key[@oid='sap']",
    "//STOCK[bid > 101]",
    "false()",
]


@pytest.mark.parametrize("text", SEEDS)
def test_every_xpath_of_the_seeds_is_accepted(text: str) -> None:
    assert KeyXPath(text).matches(Document("k", "", f"<{text.strip(' /')}/>"))


@pytest.mark.parametrize("text", TRUE)
def test_what_is_true_of_a_document_is_found(text: str) -> None:
    assert KeyXPath(text).matches(Document("ibm", "NEWS", STOCK))


@pytest.mark.parametrize("text", FALSE)
def test_what_is_not_is_not(text: str) -> None:
    assert not KeyXPath(text).matches(Document("ibm", "NEWS", STOCK))


@pytest.mark.parametrize("seed", scenarios(range(8)))
def test_chance_finds_no_pair_that_lxml_sees_otherwise(seed: int) -> None:
    assert not [what for asked, xml in pairs(400, seed) if (what := differs(asked, xml))]


REFUSED = {
    "": "is empty",
    " ": "is empty",
    "//": "at character 3: a name is missing",
    "//a[": "a name is missing",
    "//a[1": "']' is missing",
    "//a]": "at character 4: ']' is invalid here",
    "a = b = c": "comparisons cannot be chained",
    "//a/descendant::b": "named axes such as child:: are not supported",
    "$x": "'$' is invalid here",
    "document('/etc/passwd')": "the function document() is not supported",
    "re:test(., '(a+)+$')": "':' is invalid here",
    "id('x')": "the function id() is not supported",
    "string(//a)": "the function string() is not supported",
    "contains(//a, //b)": "contains() requires a text between quotation marks here",
    "count('x')": "count() requires a path here",
    "//a + 1": "'+' is invalid here",
    "//a * 2": "'*' is invalid here",
    "//ä": "'ä' is invalid here",
    "'": '"\'" is invalid here',
    "comment()": "the function comment() is not supported",
    "//a/comment()": "comment() is not supported",
    ".[1]": "'.' cannot have a condition in brackets",
    "(" * 9 + "a" + ")" * 9: "nested deeper than 8 levels",
    "(" * 120 + "a" + ")" * 120: "nested deeper than 8 levels",
    "a" * (LONGEST + 1): "XPath",
    "//a[\x00]": "XPath",
    "//a\ud800": "XPath",
}


@pytest.mark.parametrize(("text", "says"), REFUSED.items())
def test_what_is_no_xpath_is_refused_with_its_place(text: str, says: str) -> None:
    with pytest.raises(BadXPath, match=re.escape(says)):
        KeyXPath(text)


EVIL = [
    "//*[//*[//*[//*]]]",
    "//*[..//*[..//*]]",
    "//*[//*=//*]",
    "//*//*[.//*//*[.//*]]//*",
    "count(//*[count(//*[count(//*) > 1]) > 1]) > 1",
    "//*" * 40 + "[//*]",
    "//*[contains(//*, '" + "a" * 120 + "b')]//..",
    "//@*[//@*[//@*=//@*]]",
    " | ".join(["//*//*//*"] * 20),
]


@pytest.mark.parametrize("text", EVIL)
def test_what_may_cost_too_much_is_refused_before_it_runs(text: str) -> None:
    with pytest.raises(BadXPath, match=f"the limit is {MOST:,}"):
        KeyXPath(text)


def test_what_all_together_may_look_at_is_bounded() -> None:
    check_together([MOST] * 10)
    check_together([price(read(f"/key/STOCK[@name='{n}']")) for n in range(800)])
    with pytest.raises(
        BadXPath, match=f"5,000,001 XML nodes for one message; the limit is {MOST_TOGETHER:,}"
    ):
        check_together([MOST] * 10 + [1])


def visits(text: str, xml: str) -> int:
    """Return the number of nodes that the steps of an XPath find in a document."""
    root = etree.fromstring(f"<key>{xml}</key>")
    steps = re.split(r"(?<=[\w*\])])(?=//?)", text)
    paths = ["".join(steps[: i + 1]) for i in range(len(steps))]
    return sum(int(str(root.xpath(f"count({path})")).partition(".")[0]) for path in paths)


@pytest.mark.parametrize(
    "text", ["//a//a//a", "//*/*/*", "/*/*/*", "/key/*//@b", "//a[a]//a", "//*[@b]", "//*[a]//@b"]
)
def test_the_price_of_a_path_is_no_less_than_what_it_finds(text: str) -> None:
    found = [visits(text, xml) for xml in xpaths.LARGEST]
    assert max(found) <= price(read(text)) <= MOST


def test_what_is_in_brackets_is_paid_for_at_each_place() -> None:
    once, inside = price(read("//a")), price(read("//a[//b]"))
    assert inside > 100 * once
    assert price(read("not(//a[//b])")) > inside and price(read("//a = count(//a[//b])")) > inside
    assert price(read("contains(//a[//b], 'x')")) > inside and price(read("//a | //c[//b]")) > inside


def test_a_document_without_a_name_that_is_needed_is_not_even_read() -> None:
    assert needed(read("//STOCK[@name='IBM' and bid]/ask")) == {"STOCK", "name", "bid", "ask"}
    assert needed(read("//a[b or c]")) == {"a"} and needed(read("//a | //b")) == frozenset()
    assert needed(read("//a[x] | //b[x]")) == {"x"}
    assert needed(read("not(//a) and //b")) == {"b"} and needed(read("count(//a) = 0")) == frozenset()
    assert needed(read("//a = true()")) == frozenset() and needed(read("//a = //b")) == {"a", "b"}
    document = Document("k", "", "<unclosed>")
    assert not KeyXPath("//STOCK").matches(document)


def test_it_is_known_whether_key_or_domain_matter() -> None:
    assert all(reads_key(read(x)) for x in ("//key[@oid='x']", "//a[not(@domain)]", "//@* = 'x'", "@oid | a"))
    assert not any(reads_key(read(x)) for x in ("//a[@name='x']", "//oid", "count(//a) > 1"))


def test_the_same_text_is_read_once() -> None:
    assert (
        asked("//a") is asked("//a")
        and KeyXPath("//a ") == KeyXPath("//a")
        and hash(KeyXPath("//a")) == hash(asked("//a"))
    )


def test_the_worst_documents_are_within_the_limits() -> None:
    for xml in xpaths.LARGEST:
        assert check_xml(xml) == xml


def test_chance_makes_all_kinds_of_xpaths() -> None:
    dice = Random(7)
    made = [xpaths.xpath(dice) for _ in range(300)]
    assert all(
        any(word in text for text in made) for word in ("//", "[", "@", "count", "contains", " or ", "|")
    )
