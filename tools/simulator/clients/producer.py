"""A client that puts into queues, with each put and its answer in the history."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import cycle
from typing import Any

from mesh.client.core.accumulator import PutTerms
from mesh.errors import MeshError
from mesh.names import PUTS
from mesh.values import Headers
from mesh.wire.envelope import PERSISTENT, Envelope
from mesh.wire.properties import Properties, decode_properties, encode_properties
from tools.simulator.clients.diary import sum_of
from tools.simulator.clients.partner import Partner
from tools.simulator.clients.witness import id_of

USUAL = (5, 0, "")  # default priority, delay and group


class Producer(Partner):
    """A client that puts into queues.

    Its events: `put` with the terms and kind in `keys`; `put said` with the answer.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._puts = self.new_posts()

    def put(
        self,
        queue: str,
        contents: Sequence[bytes],
        flags: str,
        how: PutTerms,
        kinds: Sequence[str],
        ttl: float,
    ) -> None:
        """Put messages one by one, as soon as there is space.

        The messages have the `kinds` as a header, in turn. `ttl` is in s; 0 means no expiry.
        """
        for content, kind in zip(contents, cycle(kinds), strict=False):
            self._puts.append(partial(self._put_now, queue, content, flags, how, kind, ttl))
        self.post_waiting()

    def _put_now(self, queue: str, content: bytes, flags: str, how: PutTerms, kind: str, ttl: float) -> None:
        expires = self.net.wall + int(ttl * 1e9) if ttl else 0
        props = encode_properties(Properties(Headers([("kind", kind)]), expires=expires))
        to, publisher = PUTS + queue, self.core.publisher
        how = () if how == USUAL else how
        number = publisher.append_put(to, how, "", content, PERSISTENT * ("p" in flags), props, expires)
        promise: Any = publisher.verdicts.when_answered(to, number, True)
        promise.then(partial(self._put_said, to, number))

    def _put_said(self, to: str, number: int, said: Any, error: Any) -> None:
        state = error.code if isinstance(error, MeshError) else said.state
        if state != "CLOSED":
            self.history.met(f"put: {state}")
            where = {"stream": self.stream.hex(), "domain": to, "first": number, "to": self.session_name}
            self.event("put said", text=state, **where)

    def wrote(self, e: Envelope) -> None:
        if not e.domain.startswith(PUTS):
            super().wrote(e)
            return
        how = " ".join(map(str, e.put))
        for i, content in enumerate(e.contents()):
            kind = decode_properties(e.message(i)[0]).headers.get("kind", "")
            what = {**id_of(e, i), "keys": (how, kind), "stamp": e.expires}
            self.event("put", **what, text=sum_of(content), flags="p" * e.persistent)
