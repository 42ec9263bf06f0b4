"""Queries of all kinds that match a message."""

from mesh.routing.querytrie import QueryTrie, visits_of, visits_together, wants
from mesh.wire.commands import Query

EXACT, PATTERN = Query("exact", "a/b"), Query("pattern", "a/#")
XPATH, OTHER = Query("xpath", "//STOCK"), Query("xpath", "//BOND")
XML = "<key oid='x'><STOCK/></key>"


def filled() -> QueryTrie[int]:
    trie = QueryTrie[int]()
    for value, query in enumerate((EXACT, PATTERN, XPATH, OTHER)):
        trie.add(query, value)
    return trie


def test_a_message_is_found_by_its_key_and_by_its_xml() -> None:
    trie = filled()
    assert trie.match("a/b", "", "") == {0, 1}
    assert trie.match("a/c", "", XML) == {1, 2}
    assert trie.match("x", "", XML) == {2}
    assert trie.match("x", "", "") == set()


def test_no_xpath_finds_what_a_node_publishes_of_itself() -> None:
    assert filled().match("__sys__/x", "", XML) == set() and not wants(XPATH, "__sys__/x", "", XML)


def test_a_discarded_query_finds_nothing_and_a_second_time_does_no_harm() -> None:
    trie = filled()
    for _ in range(2):
        for value, query in ((0, EXACT), (2, XPATH), (3, OTHER)):
            trie.discard(query, value)
    assert trie.match("a/b", "", XML) == {1} and not trie.has_xpaths


def test_a_result_belongs_to_the_caller() -> None:
    trie = filled()
    trie.match("a/b", "", "").clear()
    assert trie.match("a/b", "", "") == {0, 1}


def test_the_cost_of_an_xpath_counts_once() -> None:
    trie = filled()
    both = visits_of(XPATH.text) + visits_of(OTHER.text)
    assert trie.visits_with(XPATH) == both == visits_together({XPATH.text, OTHER.text})


def test_a_query_of_a_domain_wants_nothing_of_another() -> None:
    query = Query("pattern", "a/#", "D")
    assert wants(query, "a/b", "D", "") and not wants(query, "a/b", "", "") and wants(PATTERN, "a/b", "D", "")
