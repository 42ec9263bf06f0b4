"""The calls of a client that register handlers and run them.

Generated from mesh/client/handling.py: change that, and type `tools/generate_sync`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mesh.client.message import Message, T
from mesh.sync.connected import Connected


class Handling(Connected):
    """The client's calls that register functions as message handlers and run them."""

    def on(
        self,
        *topics: str,
        type: type[T] | None = None,
        domain: str | None = None,
        initial: bool = True,
        overflow: str = "block",
        max_queue: int = 0,
        group: str | None = None,
        concurrency: int = 1,
    ) -> Callable[[Callable[[Message[T]], Any]], Callable[[Message[T]], Any]]:
        """Decorate a function that handles each message of some topics while `run` or `running` runs.

        The function may be `async`; otherwise it blocks the client while it works. In `mesh.sync` it runs in
        a thread, and must not be `async`. A message counts as consumed when the function returns. Exceptions
        are logged (`mesh.client`), and the next message follows, unless `stop_on_error` is set.

        Args:
            topics: Keys or patterns (`sensors/+/temp`, `sensors/#`). Default: all topics of the domain.
            concurrency: Messages handled at a time, 1 to 1,000. Default: 1, which keeps their order.
            type: The type of `message.value`. This and the other arguments are as for `subscribe`.

        Raises:
            BadKey, BadQuery, BadType, BadArgument: An argument or the function is unsuitable.

        Example:
            @m.on("sensors/#", type=float)
            def show(message):
                print(message.key, message.value)
        """
        found: Callable[[Callable[[Message[T]], Any]], Callable[[Message[T]], Any]] = super().on(
            *topics,
            type=type,
            domain=domain,
            initial=initial,
            overflow=overflow,
            max_queue=max_queue,
            group=group,
            concurrency=concurrency,
        )
        return found

    def run(self, *, stop_on_error: bool = False) -> None:
        """Run the handlers until the call is cancelled or the client is closed.

        Args:
            stop_on_error: Whether the first exception of a handler ends the run and is raised. BadContent
                never does.

        Raises:
            BadQuery: There is no handler, or the handlers are already running.
            MeshError: The error of a subscription or service that failed.
        """
        return self._run(None, lambda: self._aio.run(stop_on_error=stop_on_error))

    @contextmanager
    def running(self, *, stop_on_error: bool = False) -> Iterator[None]:
        """Run the handlers in the background of a block, and cancel them at its end.

        Inside the block every reachable node knows the subscriptions. An error that would end `run` cancels
        the block and is raised at its end.

        Args:
            stop_on_error: As for `run`.

        Raises:
            BadQuery, MeshError: As for `run`.

        Example:
            with m, m.running():
                time.sleep(60)
        """
        with super().running(stop_on_error=stop_on_error):
            yield
