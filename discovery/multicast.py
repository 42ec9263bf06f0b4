"""Adapter to zeroconf, which sends and receives multicast DNS."""

import asyncio
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from zeroconf import Error, InterfaceChoice, ServiceInfo, ServiceStateChange, Zeroconf
from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf

from mesh.discovery.advert_limiter import AdvertLimiter, Boots
from mesh.discovery.adverts import MOST_HOSTS, Advert, Adverts, Near, Rejected

TYPE = "_heronry._tcp.local."
# Maximum number of services with incomplete adverts that are queried at the same time.
ASKED = 16
ANSWER = 3000  # ms, timeout of such a query
TAKE_AGAIN = 0.1  # s before more waiting adverts are read


@dataclass(frozen=True, slots=True)
class Announcement:
    """An advert to announce, and the interfaces to announce it on."""

    advert: Advert
    interfaces: tuple[str, ...]  # those of mesh.discovery.interfaces.mdns_interfaces


class CannotSpeak(Exception):
    """No interface can be used for mDNS."""


class ZeroconfInstance:
    """A zeroconf instance with its sockets, this node's service, and a browser for other services."""

    def __init__(self, adverts: Adverts, wanted: Announcement) -> None:
        """Open the sockets. Raises: CannotSpeak, OSError or an error of zeroconf.

        Call in a running event loop.
        """
        self._adverts = adverts
        self._spoken = wanted
        self._zeroconf = AsyncZeroconf(interfaces=_for_zeroconf(wanted.interfaces))
        self._browser: AsyncServiceBrowser | None = None

    async def start(self) -> None:
        """Announce this node's service. Raises: CannotSpeak, or an error of zeroconf."""
        await self._zeroconf.zeroconf.async_wait_for_start()
        self._check()
        # The name is a uuid, so zeroconf need not check for half a second that it is unique.
        await self._zeroconf.async_register_service(
            self._service(self._spoken.advert), cooperating_responders=True
        )

    async def close(self) -> None:
        await self._zeroconf.async_close()

    async def go_over(self, wanted: Announcement) -> None:
        """Update the announcement.

        Changed interfaces take effect at the next `look`.
        """
        if wanted.advert != self._spoken.advert:
            await (await self._zeroconf.async_update_service(self._service(wanted.advert)))
        self._spoken = wanted

    async def look(self, heard: Callable[..., None]) -> None:
        """Adopt the wanted interfaces, and query for services again. Raises: CannotSpeak.

        `heard` is called for each service that answers, even for a known one.
        """
        # This includes interfaces that failed before, such as one without an address yet.
        await self._zeroconf.async_update_interfaces(_for_zeroconf(self._spoken.interfaces))
        self._check()
        if self._browser is not None:
            await self._browser.async_cancel()
        self._browser = AsyncServiceBrowser(self._zeroconf.zeroconf, TYPE, handlers=[heard])

    def _check(self) -> None:
        if not self._zeroconf.zeroconf.engine.senders:
            raise CannotSpeak(f"no packet can be sent on {', '.join(self._spoken.interfaces)}")

    def _service(self, advert: Advert) -> ServiceInfo:
        return ServiceInfo(
            TYPE,
            f"{advert.instance}.{TYPE}",
            advert.port,
            properties=self._adverts.write_txt(advert),
            server=f"{advert.instance}.local.",
            parsed_addresses=[host.partition("%")[0] for host in advert.hosts[:MOST_HOSTS]],
        )


async def look_around(
    adverts: Adverts,
    interfaces: Sequence[str],
    seconds: float,
    put: Callable[[Advert | Rejected | Near], None],
) -> None:
    """Pass what others announce to `put` for `seconds`, without an announcement of this node."""
    chosen = _for_zeroconf(interfaces) if interfaces else InterfaceChoice.All
    async with AsyncZeroconf(interfaces=chosen) as opened:
        listener = MdnsListener(adverts, "", put)
        browser = AsyncServiceBrowser(opened.zeroconf, TYPE, handlers=[listener.heard])
        try:
            await asyncio.sleep(seconds)
        finally:
            await browser.async_cancel()


def _for_zeroconf(interfaces: Sequence[str]) -> list[str | int]:
    """Return the IPv4 addresses, and interface indexes for IPv6 addresses, which may be ambiguous.

    Addresses that disappeared are left out. Raises: CannotSpeak, if no address is left.
    """
    here: list[str | int] = []
    for address in interfaces:
        _, is_scoped, name = address.partition("%")
        try:
            here.append(socket.if_nametoindex(name) if is_scoped else _bindable(address))
        except OSError:
            continue  # the interface has just disappeared
    if not here:
        raise CannotSpeak(f"no usable network interface (wanted: {', '.join(interfaces) or 'none'})")
    return here


def _bindable(address: str) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as tried:
        tried.bind((address, 0))
    return address


class MdnsListener:
    """Reads the announcements that `sieve` admits, and passes adverts, rejections and foreign nodes to `put`.

    `own` is the instance name of this node, whose announcements are ignored.
    """

    def __init__(self, adverts: Adverts, own: str, put: Callable[[Advert | Rejected | Near], None]) -> None:
        self.sieve = AdvertLimiter()
        self._boots = Boots()
        self._adverts = adverts
        self._own = own
        self._put = put
        self._asking: set[asyncio.Task[None]] = set()
        self._is_coming_back = False

    def reset(self) -> None:
        """Forget pending queries after the loop ended."""
        self._asking.clear()
        self._is_coming_back = False

    def heard(
        self, zeroconf: Zeroconf, service_type: str, name: str, state_change: ServiceStateChange
    ) -> None:
        """Record that a service was added, updated or removed.

        zeroconf calls this method with these argument names.
        """
        instance = name.removesuffix("." + service_type)
        if state_change is ServiceStateChange.Removed:
            self.sieve.remove_service(instance)
        elif instance != self._own:
            self.sieve.add_service(instance)
            self._look_at_some(zeroconf)

    def upset(self, context: Mapping[str, object]) -> None:
        """Report an unhandled error in the event loop, most likely caused by an unexpected packet."""
        error = context.get("exception")
        text = f"mDNS failed: {context.get('message')}: {error!r}"
        self._complain(Rejected("", text, f"MDNS_{type(error).__name__.upper()}"))

    def _look_at_some(self, zeroconf: Zeroconf) -> None:
        if self._is_coming_back:
            return
        for instance in self.sieve.take(time.monotonic()):
            self._look_at(zeroconf, instance)
        if self.sieve.is_waiting:
            self._is_coming_back = True
            asyncio.get_running_loop().call_later(TAKE_AGAIN, self._come_back, zeroconf)

    def _come_back(self, zeroconf: Zeroconf) -> None:
        self._is_coming_back = False
        self._look_at_some(zeroconf)

    def _look_at(self, zeroconf: Zeroconf, instance: str) -> None:
        try:
            info = AsyncServiceInfo(TYPE, f"{instance}.{TYPE}")
        except Error:  # the name violates the rules of DNS
            self.sieve.ignored += 1
            return
        if info.load_from_cache(zeroconf):
            self._judge(instance, info)
        elif len(self._asking) < ASKED:
            task = asyncio.get_running_loop().create_task(self._ask(zeroconf, instance, info))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)
        else:
            self.sieve.ignored += 1

    async def _ask(self, zeroconf: Zeroconf, instance: str, info: AsyncServiceInfo) -> None:
        if await info.async_request(zeroconf, ANSWER):
            self._judge(instance, info)

    def _judge(self, instance: str, info: AsyncServiceInfo) -> None:
        told = self._adverts.read_advert(instance, info.properties, info.port, info.parsed_scoped_addresses())
        if isinstance(told, Advert):
            told = self._boots.judge(told)
        if isinstance(told, Near):
            if self.sieve.is_new_mesh(told.mesh):
                self._put(told)
        elif isinstance(told, Rejected):
            self._complain(told)
        elif told is not None and self.sieve.keep(instance):
            self._put(told)

    def _complain(self, rejected: Rejected) -> None:
        if self.sieve.is_news(rejected, time.monotonic()):
            self._put(rejected)
