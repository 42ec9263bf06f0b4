"""The nodes that several decisions lead to."""

from mesh.mapping.decision import Sources, forward, here, refuse, wait


def test_hops_are_the_copies_or_the_one_node() -> None:
    assert forward("", "a").hops == ("a",) and forward("", "a", ("a", "b")).hops == ("a", "b")


def test_the_sources_of_several_decisions_name_each_node_once_and_in_order() -> None:
    decisions = [
        forward("", "b", to_master=True),
        wait("", "a"),
        forward("", "b"),
        wait("", "c", ("c", "d"), to_master=True),
        here(""),
        wait(""),
    ]
    found = Sources.of(decisions, everyone=False)
    assert found == Sources(("b", "a", "c", "d"), False, ("b", "c", "d"), ("a", "c", "d"))


def test_nodes_of_a_refusal_are_asked_and_not_counted_as_unreachable() -> None:
    assert Sources.of([refuse("", "a", "CIRCULAR_LOOP")], everyone=True) == Sources(("a",), True)
