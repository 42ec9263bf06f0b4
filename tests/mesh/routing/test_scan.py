"""The scan of all values with an XPath, a few values in each turn."""

from msgspec.structs import replace

from mesh.mapping.keyxml import asked
from mesh.routing.retained_value import RetainedValue, last_values
from mesh.routing.scan import LEAST, XPathScan
from mesh.wire.commands import Query
from mesh.wire.limits import KEY_XML
from tests.mesh.envelopes import envelope

STOCK = "<STOCK name='IBM'/>"
LARGE = "<a>" + "<STOCK/>" * 200 + "x" * (KEY_XML - 1700) + "</a>"


def value(key: str, xml: str, domain: str = "") -> RetainedValue:
    (last,) = last_values(replace(envelope(key, [b"1"]), xml=xml, domain=domain))
    return last


def turns(scan: XPathScan, visits: int) -> int:
    count = 1
    while scan.go_on(visits):
        count += 1
    return count


def test_it_finds_what_fits_in_however_many_turns() -> None:
    values = [value(f"k{i}", STOCK if i % 2 else "<BOND/>", "NEWS" if i % 3 else "") for i in range(12)]
    for visits in (1, LEAST, 3 * LEAST, 10**9):
        scan = XPathScan(Query("xpath", "//STOCK", "NEWS"), values)
        assert turns(scan, visits) == 1 + 12 // max(1, -(-visits // LEAST)) * (visits < 10**9)
        assert [last.key for last in scan.found] == ["k1", "k5", "k7", "k11"]


def test_of_large_documents_fewer_are_looked_at_in_a_turn_and_of_costly_xpaths_fewer_still() -> None:
    values = [value(f"k{i}", LARGE) for i in range(20)]
    cheap, costly = "//STOCK", "//*[contains(., 'xyz')]"
    assert asked(cheap).price < asked(costly).price
    assert [turns(XPathScan(Query("xpath", text), values), 50_000) for text in (cheap, costly)] == [1, 11]


def test_it_looks_at_nothing_before_its_first_turn() -> None:
    scan = XPathScan(Query("xpath", "//STOCK"), [value("k", STOCK)])
    assert scan.found == []
    assert not scan.go_on()
    assert len(scan.found) == 1


def test_what_is_no_xml_ends_nothing() -> None:
    scan = XPathScan(Query("xpath", "//STOCK"), [value("bad", "<STOCK>"), value("good", STOCK)])
    assert not scan.go_on()
    assert [last.key for last in scan.found] == ["good"]
