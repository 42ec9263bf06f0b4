"""Refused clients that a node remembers: the last reason of each, and a bounded number of them."""

from mesh.kernel.context.turnedaway import KEPT, LONGEST, RefusedClients


def test_the_last_refusal_of_a_client_counts() -> None:
    refused = RefusedClients()
    refused.add("joe", "VERSION", "another release", 1.0)
    refused.add("joe", "PASSWORD", "no password", 2.0)
    assert refused.last_refusal("joe", 3.0) == ("PASSWORD", "no password", 2.0)
    assert refused.last_refusal("ann", 3.0) is None


def test_only_the_last_clients_are_remembered_and_a_repeated_one_is_among_them() -> None:
    refused = RefusedClients()
    refused.add("joe", "VERSION", "first", 0.0)
    for n in range(KEPT - 1):
        refused.add(f"client{n}", "VERSION", "x", 0.0)
    refused.add("joe", "VERSION", "again", 0.0)
    refused.add("one more", "VERSION", "x", 0.0)
    assert refused.last_refusal("client0", 0.0) is None and refused.last_refusal("joe", 0.0) is not None
    assert len(refused._last) == KEPT


def test_a_long_name_and_a_long_reason_are_cut() -> None:
    refused = RefusedClients()
    refused.add("j" * 1000, "VERSION", "r" * 1000, 0.0)
    found = refused.last_refusal("j" * LONGEST, 0.0)
    assert found is not None and len(found.reason) == 4 * LONGEST
