"""Runs multicast DNS in a separate thread, and restarts it after failures."""

# Rule 1: mDNS can neither block nor break the node, which reads a bounded queue when it has time.
# Rule 2: mDNS uses only the given interfaces.
# Rule 3: a node whose announcement disappears may still be running. Other components decide that.

import asyncio
import contextlib
import logging
import queue
import random
import threading
import time
from collections.abc import Callable, Sequence

from mesh.discovery.adverts import Advert, Adverts, Near, Rejected
from mesh.discovery.multicast import Announcement, CannotSpeak, MdnsListener, ZeroconfInstance
from mesh.discovery.sights import Discovered, Down, Sight, Up

WAITING = 1024  # queued sights; further ones are dropped
PAUSE = 5.0  # s between two announcements
BACKOFF_MIN, BACKOFF_MAX = 1.0, 30.0  # s before a restart
GOODBYE = 1.0  # s that `stop` waits
# Share of a core, and seconds in a row, above which the traffic counts as a flood.
BUSY, BUSY_FOR = 0.5, 3

# RFC 6762 lets the interval between two queries grow to an hour. Nodes that started on two sides of a broken
# network would not find each other for that long after its repair. The query is therefore repeated at this
# interval in seconds, longer with many services, so that all nodes together send about one a second.
LOOK_AGAIN, LOOK_AGAIN_EACH = 30.0, 4.0

log = logging.getLogger("discovery.mdns")


class Mdns:
    """Announces this node and listens for others.

    `interfaces` are those of `mesh.discovery.interfaces.mdns_interfaces`. `tell` is called in the mDNS thread
    whenever `take` has something to return, and must only wake up the reader.
    """

    def __init__(
        self, adverts: Adverts, advert: Advert, interfaces: Sequence[str], tell: Callable[[], None]
    ) -> None:
        self._adverts = adverts
        self._wanted = self._tried = Announcement(advert, tuple(interfaces))
        self._tell = tell
        self._sights: queue.Queue[Sight] = queue.Queue(WAITING)
        self._dropped = 0
        self._ear = MdnsListener(adverts, advert.instance, self._heard)
        self._stopping = False
        self._roused = threading.Event()
        self._rouse_life: Callable[[], object] | None = None
        self._lock = threading.Lock()  # its loop must not close while `_rouse_life` is called
        self._was_up: bool | None = None
        self._pause_until = 0.0
        self._thread = threading.Thread(target=self._run, name="mdns", daemon=True)

    @property
    def ignored(self) -> int:
        """The number of adverts and sights that were discarded because of a limit or an invalid name."""
        return self._ear.sieve.ignored + self._dropped

    def start(self) -> None:
        """Start the thread.

        Call once.
        """
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread, which withdraws the announcement, and wait at most GOODBYE seconds for its end."""
        self._stopping = True
        self._rouse()
        if self._thread.is_alive():
            self._thread.join(GOODBYE)

    def update(self, advert: Advert, interfaces: Sequence[str]) -> None:
        """Change the announcement.

        The change is sent immediately, but not within PAUSE seconds of the previous announcement.
        """
        self._wanted = Announcement(advert, tuple(interfaces))
        self._rouse()

    def take(self) -> list[Sight]:
        """Remove and return at most WAITING sights, oldest first."""
        taken: list[Sight] = []
        with contextlib.suppress(queue.Empty):
            while len(taken) < WAITING:
                taken.append(self._sights.get_nowait())
        return taken

    def _rouse(self) -> None:
        self._roused.set()
        with self._lock:
            if self._rouse_life is not None:
                self._rouse_life()

    # --- in the thread --------------------------------------------------------------------------------

    def _run(self) -> None:
        logging.getLogger("zeroconf").setLevel(logging.ERROR)  # otherwise foreign packets could flood the log
        backoff = BACKOFF_MIN
        while not self._stopping:
            born = time.monotonic()
            try:
                # Each attempt has its own event loop, so no state of a failed one survives.
                asyncio.run(self._life())
            except Exception as error:  # zeroconf and the system can raise anything
                self._down(error)
            self._ear.reset()
            if time.monotonic() - born > 2 * BACKOFF_MAX:
                backoff = BACKOFF_MIN
            self._rest(time.monotonic() + backoff)
            backoff = min(2 * backoff, BACKOFF_MAX)

    def _rest(self, until: float) -> None:
        """Wait until `until`, or until a changed announcement may be sent, or until the thread is stopped."""
        while True:
            self._roused.clear()  # before reading, so that no call is missed
            due = self._pause_until if self._wanted != self._tried else max(until, self._pause_until)
            left = due - time.monotonic()
            if self._stopping or left <= 0:
                return
            self._roused.wait(left)

    async def _life(self) -> None:
        loop, roused = asyncio.get_running_loop(), asyncio.Event()
        loop.set_exception_handler(lambda _, context: self._ear.upset(context))
        with self._lock:
            self._rouse_life = lambda: loop.call_soon_threadsafe(roused.set)
        try:
            self._tried = self._wanted
            speaker = ZeroconfInstance(self._adverts, self._tried)
            try:
                await speaker.start()
                await self._live(speaker, roused)
            finally:
                await speaker.close()
        finally:
            with self._lock:
                self._rouse_life = None

    async def _live(self, speaker: ZeroconfInstance, roused: asyncio.Event) -> None:
        self._up()
        load, look_at = _Load(time.monotonic(), time.thread_time()), 0.0
        while not self._stopping:
            now = time.monotonic()
            load.check_load(now, time.thread_time())
            if self._wanted != self._tried and now >= self._pause_until:
                self._pause_until, look_at = now + PAUSE, now
                self._tried = self._wanted
                await speaker.go_over(self._tried)
            if now >= look_at:
                await speaker.look(self._ear.heard)
                often = max(LOOK_AGAIN, LOOK_AGAIN_EACH * len(self._ear.sieve))
                look_at = now + often * random.uniform(0.8, 1.2)  # desynchronizes the nodes
            wait = min(1.0, self._pause_until - now) if self._wanted != self._tried else 1.0
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(roused.wait(), wait)
            roused.clear()

    def _up(self) -> None:
        self._pause_until = time.monotonic() + PAUSE
        self._was_up = True
        self._put(Up())

    def _down(self, error: Exception) -> None:
        reason = str(error) if isinstance(error, CannotSpeak | _Flood) else f"{type(error).__name__}: {error}"
        log.debug("mDNS is down: %s", reason)
        if self._was_up is not False:  # a repeated failure is no news
            self._was_up = False
            self._put(Down(reason))

    def _heard(self, told: Advert | Rejected | Near) -> None:
        self._put(Discovered(told) if isinstance(told, Advert) else told)

    def _put(self, sight: Sight) -> None:
        try:
            self._sights.put_nowait(sight)
        except queue.Full:
            self._dropped += 1
        self._tell()


class _Flood(Exception):
    """More mDNS packets arrive than this node can read without slowing down."""


class _Load:
    """Measures the share of processor time that this thread uses.

    Both clocks are in seconds.
    """

    def __init__(self, now: float, spent: float) -> None:
        self._since, self._spent = now, spent
        self._busy = 0

    def check_load(self, now: float, spent: float) -> None:
        """Check the load, at most once a second. Raises: _Flood, after BUSY_FOR busy seconds in a row."""
        if now - self._since < 1.0:
            return
        is_busy = spent - self._spent > BUSY * (now - self._since)
        self._busy = self._busy + 1 if is_busy else 0
        self._since, self._spent = now, spent
        if self._busy >= BUSY_FOR:
            raise _Flood("mDNS packets flood this node; they are ignored for a while")
