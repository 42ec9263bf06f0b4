"""The rows of what other nodes serve."""

from mesh.core.presence.registry import Registry

X = ("address", "x")


def test_rows_are_absolute_and_go_with_their_node() -> None:
    registry, one, other = Registry(), b"1" * 16, b"2" * 16
    assert registry.record(one, X, 3) == 3 and registry.record(one, X, 3) is None
    assert registry.record(one, X, 1) == -2 and registry.record(other, X, 2) == 2
    assert registry.servers(X) == {one: 1, other: 2}
    assert registry.remove_node(one) == [(X, 1)] and registry.remove_node(one) == []
    assert registry.servers(X) == {other: 2}
    assert registry.record(other, X, 0) == -2 and not list(registry.names())
