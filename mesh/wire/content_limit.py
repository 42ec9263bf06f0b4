"""Division of envelopes by a limit on the contents of their messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mesh.wire.envelope import Envelope


def runs_by_size(envelope: Envelope, most: int) -> list[tuple[int, int, bool]]:
    """Return the numbers in runs (first, last, whether all contents have at most `most` bytes).

    A cut envelope is a single run, which counts as short.
    """
    if envelope.numbers:
        return [(envelope.first, envelope.last, True)]
    runs: list[tuple[int, int, bool]] = []
    for i in range(envelope.count):
        start, end = envelope.slice(i)
        number, is_short = envelope.first + i, end - start - envelope.props_size(i) <= most
        if runs and runs[-1][2] == is_short:
            runs[-1] = (runs[-1][0], number, is_short)
        else:
            runs.append((number, number, is_short))
    return runs


def short_parts(envelope: Envelope, most: int, too_long: Callable[[Envelope], None]) -> Iterator[Envelope]:
    """Yield the parts whose contents have at most `most` bytes each. Call `too_long` with each longer part.

    A cut envelope counts as short.
    """
    if len(envelope.body) <= most:
        yield envelope
        return
    for first, last, is_short in runs_by_size(envelope, most):
        part = envelope.part(first, last)
        if is_short:
            yield part
        else:
            too_long(part)
