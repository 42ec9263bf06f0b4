"""A client of the simulated mesh: publishes, reads and asks by the real client core, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from mesh.client.batch import Batch
from mesh.client.core.intake import Intake, Terms
from mesh.errors import MeshError
from mesh.values import Published
from mesh.wire import commands as c
from mesh.wire.envelope import FORCE_QUEUING, ONE_SESSION, PERSISTENT, Envelope
from mesh.wire.properties import Properties, encode_properties
from tools.simulator.clients.driver import Driver
from tools.simulator.clients.kept import Call, Got, Subscription, all_of, got
from tools.simulator.clients.outcome import Outcome
from tools.simulator.world.network import SECRET, Network
from tools.simulator.world.node import SimNode

Number = tuple[str, int]  # domain, and number of a message
Post = tuple[str, bytes, str, int, int, str]  # key, content, domain, flags, expires, to


class SimClient(Driver):
    """A client whose published messages are in `sent`, and their answers in `answers`.

    With `gathers`, published messages wait to share an envelope, as those of users do. Otherwise each call is
    an envelope.
    """

    gathers = False

    def __init__(
        self,
        net: Network[Any],
        address: str,
        name: str = "joe",
        session: int = 0,
        secret: bytes = SECRET,
        others: Sequence[str] = (),
    ) -> None:
        self._stirred: dict[Subscription, None] = {}  # subscriptions that may have messages
        self.sent: dict[Number, tuple[str, bytes, bool]] = {}
        self.letters: dict[Number, str] = {}  # receiver by direct message
        self.answers: dict[Number, c.Answer] = {}  # the latest answer
        self.warned: set[Number] = set()  # messages that were answered before the final answer
        self.subscriptions: dict[int, Subscription] = {}
        self.refusals: list[c.Refuse] = []
        self.sources: Any = []  # of the last get; error code on failure
        super().__init__(net, address, name, session, secret, others)
        self._posts = self.new_posts()

    # --- publishing ---------------------------------------------------------------------------------------

    def publish(
        self,
        keys: str,
        *contents: bytes,
        persistent: bool = False,
        domain: str = "",
        flags: int = 0,
        expires: int = 0,
    ) -> None:
        """Publish a message for each word of `keys`, as soon as the window has space.

        `expires` is in ns since 1970; 0 means never.
        """
        words = keys.split()
        flags |= PERSISTENT if persistent else 0
        rows = zip(words, contents or [b""] * len(words), strict=True)
        self._post([(key, content, domain, flags, expires, "") for key, content in rows])

    def send(
        self,
        to: str,
        content: bytes,
        *,
        force: bool = False,
        persistent: bool = False,
        domain: str = "",
        expires: int = 0,
        to_one: bool = False,
    ) -> None:
        """Send a direct message to a client or session."""
        flags = (FORCE_QUEUING if force else 0) | (PERSISTENT if persistent else 0)
        flags |= ONE_SESSION if to_one else 0
        self._post([("", content, domain, flags, expires, to)])

    def _post(self, messages: list[Post]) -> None:
        self._posts.append(partial(self._post_all, messages))
        self.post_waiting()

    def _post_all(self, messages: list[Post]) -> None:
        while messages:
            self._post_now(*messages[0])
            del messages[0]
        if not self.gathers:
            self.core.publisher.accumulator.seal()

    def _post_now(self, key: str, content: bytes, domain: str, flags: int, expires: int, to: str) -> None:
        props = encode_properties(Properties(expires=expires))
        number = self.core.publisher.append_message(key, content, domain, flags, props, expires, to)
        verdicts = self.core.publisher.verdicts
        for last in (False, True):
            promise = verdicts.when_answered(domain, number, last)
            assert isinstance(promise, Outcome)
            promise.then(partial(self._judged, (domain, number), last))

    def _judged(self, number: Number, last: bool, said: Published | None, error: Any) -> None:
        known = self.answers.get(number)
        if isinstance(error, MeshError) and error.code == "CLOSED":
            return
        if known is not None and (not last or known.state != "FORWARD_WARNING"):
            return  # the first answer was final
        if known is not None:
            self.warned.add(number)
        if said is not None:
            answer = c.Answer(*number, number[1], said.state, said.matched, said.note)
        else:
            answer = c.Answer(*number, number[1], error.code, text=str(error))
        self.answers[number] = answer
        self.answered(answer)

    def answered(self, answer: c.Answer) -> None:
        """Handle a new answer to one message; subclasses override this."""

    def wrote(self, e: Envelope) -> None:
        for i, content in enumerate(e.contents()):
            self.sent[e.domain, e.number(i)] = (e.keys[e.row(i)], content, e.persistent)
            if e.to:
                self.letters[e.domain, e.number(i)] = e.to

    def settled(self) -> SimClient:
        """Wait until all published messages are answered, and return the client."""
        self.net.until(lambda: not self._posts and self.core.publisher.is_quiet)
        return self

    def state(self, number: int, domain: str = "") -> str:
        answer = self.answers.get((domain, number))
        return answer.state if answer else ""

    # --- reading ------------------------------------------------------------------------------------------

    def inbox(self) -> Subscription:
        """Subscribe to messages sent to this session, and wait for the confirmation."""
        s = self.read_inbox()
        self.net.until(lambda: s.is_confirmed)
        return s

    def read_inbox(self) -> Subscription:
        """Subscribe to the inbox without waiting for it."""
        return self._read(self.core.subscriptions.inbox(), None)

    def subscribe(
        self,
        key: str = "",
        pattern: str = "",
        *,
        domain: str = "",
        initial: bool = True,
        rate: float | None = None,
        overflow: str = "",
        max_queue: int = 0,
        history: int = 1,
    ) -> Subscription:
        query = c.Query("exact" if key else "pattern", key or pattern, domain)
        terms = Terms(overflow, max_queue, history)
        return self._read(self.core.subscriptions.new_subscription(query, initial, terms), rate)

    def _read(self, intake: Intake, rate: float | None) -> Subscription:
        s = self.subscriptions[intake.number] = Subscription(intake, rate)
        intake.stirred = lambda: self._stirred.setdefault(s)
        with self.acting():
            self.reads(s)
            self._keep_if_any(self.core.subscriptions.register(intake))
        if rate:
            self._use_some(s, rate)
        return s

    def reads(self, s: Subscription) -> None:
        """Handle a subscription before it is sent; subclasses override this."""

    def subscribed(self, key: str = "", pattern: str = "", **options: Any) -> Subscription:
        """Subscribe, and wait until the subscription is confirmed."""
        s = self.subscribe(key, pattern, **options)
        self.net.until(lambda: s.is_confirmed)
        return s

    def unsubscribe(self, s: Subscription) -> None:
        del self.subscriptions[s.number]
        with self.acting():
            self._keep_if_any(self.core.subscriptions.unregister(s.intake))

    def use(self, s: Subscription, rate: float | None = None) -> None:
        """Change the rate to `rate` items per second; None consumes immediately, and 0 nothing."""
        s.rate = rate
        if rate:
            self._use_some(s, rate)
        self._stirred[s] = None
        self._turn()

    def _use_some(self, s: Subscription, rate: float) -> None:
        """Consume one item now, and further ones at `rate` until the rate changes."""
        if not self.is_closed and s.rate == rate:
            self._use_one(s)
            self._turn()
            self.net.after(1 / rate, lambda: self._use_some(s, rate))

    def _use_one(self, s: Subscription) -> bool:
        self.core.context.now = self.net.now
        batch = s.intake.next_batch()
        if batch is None:
            return False
        if batch.state == "RETRACTED":
            self.retracted(s, batch)
        new = all_of(batch)
        s.got += new
        s.intake.mark_consumed()
        self.used(s, new)
        return True

    def used(self, s: Subscription, new: list[Got]) -> None:
        """Handle a consumed batch; subclasses override this."""

    def retracted(self, s: Subscription, batch: Batch) -> None:
        """Handle received messages that their master has refused; subclasses override this."""

    def came(self, s: Subscription) -> None:
        """Handle possibly new messages of a subscription; subclasses override this."""

    def missed(self, s: Subscription, gap: int) -> None:
        """Handle a gap of `gap` dropped messages; subclasses override this."""

    def _look(self) -> None:
        while self._stirred:
            stirred, self._stirred = self._stirred, {}
            for s in stirred:
                self.came(s)
                if s.dropped > s.told:
                    self.missed(s, s.dropped - s.told)
                    s.told = s.dropped
                while s.rate is None and self._use_one(s):
                    pass

    # --- asking -------------------------------------------------------------------------------------------

    def get(
        self, key: str = "", pattern: str = "", domain: str = "", fresh: bool = False, history: int = 1
    ) -> list[Got]:
        """Return the retained values; their sources are in `sources`."""
        arguments = {"kind": "exact" if key else "pattern", "text": key or pattern, "domain": domain}
        more = {"history": history} if history > 1 else {}
        call, reply = self._called("get", {**arguments, "fresh": fresh, **more})
        self.sources = reply.code or reply.value["sources"]
        return [got(e, i, 0) for e in call.found for i in range(e.count)]

    def erase(self, key: str, domain: str = "", mode: str = "") -> Any:
        """Erase a topic, and return the keys that existed, or the code of the refusal."""
        _, reply = self._called("erase", {"key": key, "domain": domain} | ({"mode": mode} if mode else {}))
        return reply.code or reply.value["erased"]

    def call(self, verb: str, **arguments: Any) -> Any:
        return self._called(verb, arguments)[1].value

    def _called(self, verb: str, arguments: dict[str, Any]) -> tuple[Call, c.Reply]:
        call = self.ask(lambda request: c.Call(request, verb, arguments))
        self.net.until(lambda: call.reply)
        assert call.reply is not None
        return call, call.reply

    def told(self, command: c.Command, envelopes: list[Envelope]) -> None:
        match command:
            case c.Refuse():
                self.refusals.append(command)
            case c.Welcome():
                self.enter(command)
            case c.Items():
                self.check_places(command, envelopes)

    def enter(self, w: c.Welcome) -> None:
        """Handle the welcome of a node; subclasses override this."""

    def check_places(self, command: c.Items, envelopes: list[Envelope]) -> None:
        """Assert that a persistent message has one place in one log, for all subscribers."""
        for head, e in zip(command.heads, envelopes, strict=True):
            for _, column in head.targets:
                indices = memoryview(column).cast("H") if column else range(e.count)
                for i in indices if head.position and e.persistent else ():
                    place = (head.master, head.position)
                    known = self.net.places.setdefault((e.stream, e.domain, e.number(i), e.to), place)
                    assert known == place, f"message {e.number(i)} was taken twice: at {known} and {place}"


def client_of(node: SimNode, name: str = "joe", **options: Any) -> SimClient:
    """Return a connected client of `node`, by its local socket unless `options` name an address."""
    return SimClient(node.net, options.pop("address", node.ipc), name, **options).connected()
