"""Batches: which messages of an envelope they have, and of which kind."""

from typing import Any

import pytest

from mesh.client.batch import Batch, TypedBatch
from mesh.client.codecs import JSON
from mesh.client.reading import ContentReader
from mesh.wire.envelope import ERASED, INITIAL
from tests.mesh.envelopes import envelope


@pytest.mark.parametrize(("flags", "state"), [(0, "OK"), (INITIAL, "INITIAL"), (ERASED, "ERASED")])
def test_its_state_is_told_by_the_envelope(flags: int, state: str) -> None:
    batch = Batch(envelope("a b", flags=flags))
    assert batch.state == state
    assert [message.state for message in batch] == [state] * 2


def test_a_selection_has_its_messages_in_order_and_their_keys() -> None:
    batch = Batch(envelope("a b a", [b"1", b"2", b"3"]), (0, 2))
    assert (len(batch), batch.contents()) == (2, [b"1", b"3"])
    assert [(m.key, m.content) for m in batch] == [("a", b"1"), ("a", b"3")]
    assert (batch[-1].content, batch[-1].id) == (b"3", list(batch)[1].id)


def test_a_part_of_a_batch_has_its_gap_only_if_its_values_are_typed() -> None:
    batch = Batch(envelope("a b", [b"[1]", b"[2]"]), gap=3)
    part = batch.of([batch[1]])
    assert (part.contents(), part.gap) == ([b"[2]"], 0)
    typed = TypedBatch[Any](batch, ContentReader(JSON, list[int]))
    part = typed.of([typed[1]])
    assert ([m.value for m in part], part.gap) == ([[2]], 3)
