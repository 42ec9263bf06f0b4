"""The values of a lookup that this node keeps in its cache."""

from typing import Any
from unittest.mock import Mock

from mesh.kernel.asking.lookup import Lookup
from mesh.kernel.asking.lookup_result import LastValue, LookupResult
from tests.mesh.envelopes import envelope


def test_of_a_history_the_newest_message_is_cached() -> None:
    router: Any = Mock()
    router.cache.life = 1
    lookup = Lookup(Mock(), router, Mock(), Mock(), Mock(), Mock(), Mock())
    lookup._covered_by = lambda value, key: Mock()  # type: ignore[method-assign]
    found = LookupResult(most=3)
    for number in (2, 3, 1):
        found.add(LastValue(b"m" * 16, envelope("k", first=number, sent=number), "heron"))
    lookup._remember(found, 1)
    assert len(found.values) == 3
    assert [call.args[0].first for call in router.cache.store_value.call_args_list] == [3]
