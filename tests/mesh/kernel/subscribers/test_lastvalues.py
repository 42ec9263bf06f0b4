"""Last values in replies that stay below the size limit of one message."""

import pytest
from msgspec.structs import replace

from mesh.kernel.asking.lookup_result import LastValue
from mesh.kernel.subscribers.lastvalues import _fit
from mesh.transport.unfinished import MESSAGE
from mesh.wire.limits import MAX_CONTENT_EVER, MIB
from tests.mesh.envelopes import envelope


@pytest.mark.parametrize("size", [MIB, 20 * MIB, 32 * MIB, 40 * MIB, MAX_CONTENT_EVER])
def test_trial_A3_no_reply_of_ours_is_longer_than_a_node_may_send_without_being_cut(size: int) -> None:
    body = bytes(size)  # one body for all: only its length matters
    values = [LastValue(b"m" * 16, replace(envelope("k"), body=body), "here") for _ in range(70)]
    parts = []
    while values:
        parts.append(sum(len(value.envelope.body) for value in values[: _fit(values)]))
        values = values[_fit(values) :]
    assert sum(parts) == 70 * size
    assert max(parts) + MIB < MESSAGE
    assert len(parts) <= 2 * 70 * size // MAX_CONTENT_EVER + 1, "and no more of them than needed"
