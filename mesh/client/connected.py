"""The base of a client: opening, closing, and waiting with a time limit."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Never, ParamSpec, Self, TypeVar

from mesh.client.arguments import environment, seconds, several_nodes, text, whole, yes_or_no
from mesh.client.codecs import Codec, codec_of
from mesh.client.core.calls import ReplyPart
from mesh.client.core.client import ClientCore
from mesh.client.core.fail_back import Wanted, fail_back_policy
from mesh.client.events import Event, Followers
from mesh.client.forgotten import closed_in_the_end
from mesh.client.node_list import NodeList
from mesh.client.oneloop import NotCopied, check_asyncio, check_loop, not_open
from mesh.client.options import ConnectOptions, FailBackPolicy, unknown_option
from mesh.client.pages import goes_on, joined
from mesh.client.shell import Shell
from mesh.client.way import NodeAddress
from mesh.errors import Closed, MeshTimeout, NodeNotFound
from mesh.local.user import user_name
from mesh.names import node_name
from mesh.security.streamkey import STREAM_SEED, StreamKey
from mesh.values import messages
from mesh.wire.calls import Ask, arguments
from mesh.wire.commands import Call, Command
from mesh.wire.limits import LARGEST_NUMBER

if TYPE_CHECKING:
    from mesh.client.tracing import Tracer

P = ParamSpec("P")
T = TypeVar("T")

TIMEOUT = 5.0  # s, the default
UNKNOWN = (
    "Messages that reached the node arrive; the others are lost. To wait longer: connect(timeout=SECONDS)."
)
AGAIN = "Its node may have stopped, or be busy: see `mesh ls`. To wait longer: timeout=SECONDS."


class Connected(NotCopied):
    """A session at a node, in one event loop; subclasses add further calls of the public API."""

    def __init__(
        self,
        address: str | None = None,
        *others: str,
        client: str | None = None,
        session: int | None = None,
        timeout: float | None = None,
        cluster: str | None = None,
        environ: Mapping[str, str] | None = None,
        codec: Codec | str = "json",
        patience: float | None = None,
        tracing: bool = False,
        fail_back: FailBackPolicy = "never",
        **unknown: Never,
    ) -> None:
        if unknown:
            raise unknown_option(unknown, ConnectOptions)
        self._tracer: Tracer | None = None
        if yes_or_no("tracing", tracing):
            from mesh.client.tracing import Tracer  # imports OpenTelemetry, which is optional

            self._tracer = Tracer()
        self._codec = codec_of(codec)
        self._patience = None if patience is None else seconds("patience", patience)
        self._waits = timeout is not None
        self._timeout = TIMEOUT if timeout is None else seconds("timeout", timeout)
        number = 0 if session is None else whole("session", session, 1, LARGEST_NUMBER)
        name = _default_name() if client is None else node_name(client)
        self._way = NodeAddress(text("address", address), text("cluster", cluster), environment(environ))
        self._wanted = Wanted(several_nodes(address, others), fail_back_policy(fail_back))
        self._events = Followers()
        self._key = StreamKey(secrets.token_bytes(STREAM_SEED))
        self._shell = self._made((name, number, client is not None), self._key)
        self._core = self._shell.core
        self._publisher = self._core.publisher
        self._accumulator = self._publisher.accumulator

    def _made(self, name: tuple[str, int, bool], key: StreamKey) -> Shell:
        """Return the shell that runs the core. The shell must not hold a reference to this client."""
        way, saved = self._way, NodeList(self._way, is_read=bool(self._wanted.names))
        tell, limit = self._events.announce, 2 * self._timeout
        return Shell(name, key, limit, way.find_access, tell, wanted=self._wanted, saved=saved)

    # --- opening and closing ----------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        if self._shell.is_open or self._core.is_over:
            raise Closed("The client was opened before.", hint="Create another one with `mesh.connect()`.")
        check_asyncio()
        shell = self._shell
        self._end = closed_in_the_end(shell)
        try:
            await anext(self._end)
            async with asyncio.timeout(self._timeout):
                await shell.connect(self._waits)
        except BaseException as error:
            shell.close()  # so that opening can be retried
            await self._end.aclose()
            if isinstance(error, TimeoutError):
                raise self._in_vain() from None
            raise
        return self

    def _in_vain(self) -> Exception:
        line = self._core.line
        return line.failure() or NodeNotFound(
            f"{line.address or 'The node'} did not answer within {self._timeout:g} s.",
            hint="Check that the node runs and is reachable at its address.",
        )

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(drain=kind is None)

    async def close(self, *, drain: bool = True) -> None:
        """Wait for outstanding answers, then end the session; the client is closed even after an error.

        Args:
            drain: Whether to wait for answers to published messages, for at most the client's `timeout`.

        Raises:
            MeshTimeout: Answers were still outstanding.
            PublishRefused: The first refusal for which no receipt was awaited.
        """
        if not self._shell.is_open:
            return
        check_loop(self._shell.loop)
        try:
            if drain:
                async with asyncio.timeout(self._timeout):
                    await self._flushed()
        except TimeoutError:
            left = messages(self._core.publisher.outbox.unanswered)
            raise MeshTimeout(
                f"The client was closed with {left} unanswered: {self._trouble()}.", hint=UNKNOWN
            ) from None
        finally:
            self._core.close()
            self._shell.close()
            await self._end.aclose()

    def _trouble(self) -> str:
        line = self._core.line
        return f"{line.home or 'its node'} {'did not answer in time' if line.is_up else 'is unreachable'}"

    @property
    def name(self) -> str:
        """The absolute name of the session, such as `/node/heron/client/joe/session/1`. Raises: Closed."""
        if not self._shell.is_open:
            raise not_open(self._shell.loop)
        return self._core.line.name

    @property
    def cluster(self) -> str:
        """The mesh whose keys admitted the client; "" without keys, and over a local socket."""
        return self._core.line.cluster

    def events(self) -> AsyncIterator[Event]:
        """Return an iterator over the events of this client, from this call until the client is closed.

        Example:
            async for event in m.events():
                print(event.kind, event.text)
        """
        check_loop(self._shell.loop)
        return self._events.follow()

    # --- calls of the node ------------------------------------------------------------------------------

    async def call(self, /, verb: str, **arguments: Any) -> Any:
        """Return the raw reply of the node to a verb of docs/wire.md, such as "peers" or "down".

        A long list is fetched page by page, unless `after` or `limit` select one page. Prefer `nodes` and
        `info`, which return typed objects.

        Args:
            verb: The name of the verb.
            arguments: The arguments of the verb, as docs/wire.md lists them.

        Raises:
            MeshError: The node refused the call; `code` says why.
            MeshTimeout: No reply within the client's patience, or within twice its `timeout`.

        Example:
            peers = await m.call("peers")
        """
        value = await self._called(verb, arguments)
        is_one_page = not {"after", "limit"}.isdisjoint(arguments)
        while not is_one_page and goes_on(value):
            value = joined(value, await self._called(verb, {**arguments, "after": goes_on(value)}))
        if not is_one_page and isinstance(value, dict) and value.get("next") == "":
            del value["next"]
        return value

    # --- for subclasses -----------------------------------------------------------------------------------

    def _now(self) -> ClientCore:
        """Return the core, with its clock set to the current time. Raises: Closed, WrongLoop."""
        return self._shell.now()

    def _limit(self, timeout: float | None) -> float | None:
        """Return the time limit of a call in s, None for no limit. Raises: BadArgument."""
        return self._patience if timeout is None else seconds("timeout", timeout, zero=True)

    async def _within(
        self,
        timeout: float | None,
        work: Callable[P, Coroutine[Any, Any, T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run `work` within `timeout` seconds. Raises: MeshTimeout.

        With a `timeout` of None, the client's patience applies, or no limit if it has none.
        """
        limit = self._limit(timeout)
        if limit is None:
            return await work(*args, **kwargs)
        clock = self._shell.timeout(limit)
        try:
            async with clock:
                return await work(*args, **kwargs)
        except TimeoutError:
            if not clock.expired():
                raise
            raise self._too_late(limit) from None

    def _too_late(self, limit: float) -> MeshTimeout:
        line, left = self._core.line, self._core.publisher.unanswered
        where = "" if line.is_up else f", and {line.home or 'its node'} is unreachable"
        hint = f"{messages(left)} may still arrive; final() returns the outcome." if left else AGAIN
        what = f"The call of {line.name} did not finish within {round(limit, 3):g} s{where}."
        return MeshTimeout(what, hint=hint)

    async def _call_node(self, make: Callable[[int], Command]) -> list[ReplyPart]:
        """Send a command and return the parts of its reply. Raises: the node's error, MeshTimeout, Closed."""
        calls = self._now().calls
        pending = calls.send_with_timeout(make)
        try:
            return await pending.promise  # type: ignore[no-any-return]
        finally:
            calls.drop_pending(pending)

    async def _call_value(self, make: Callable[[int], Command]) -> Any:
        parts = await self._call_node(make)
        return parts[-1][0]

    async def _called(self, verb: str, arguments: dict[str, Any]) -> Any:
        return await self._within(None, self._call_value, lambda request: Call(request, verb, arguments))

    async def _queue_asked(self, what: Ask) -> list[ReplyPart]:
        self._now().features.check_queues()
        verb, said = what.verb, arguments(what)
        return await self._within(None, self._call_node, lambda request: Call(request, verb, said))

    async def _change(self) -> None:
        publisher = self._publisher
        promise = publisher.change()
        try:
            await promise
        finally:
            publisher.change_no_more(promise)

    async def _flushed(self) -> None:
        """Wait until every message is answered.

        Raise the first refusal for which no receipt was awaited.
        """
        publisher = self._now().publisher
        self._accumulator.seal()
        while not publisher.is_quiet:
            await self._change()
            self._now()
            self._accumulator.seal()
        publisher.verdicts.raise_first()


def _default_name() -> str:
    user = user_name() or "client"
    return "".join(ch if ch.isalnum() or ch in "_.-" else "-" for ch in user)[:64]
