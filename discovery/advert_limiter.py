"""Limits on the adverts that a node processes."""

# Any host on the link can send adverts, so all state about them is bounded here.

from collections import OrderedDict

from mesh.discovery.adverts import Advert, Rejected

MOST_SERVICES = 1024
# Queued services: as many as zeroconf itself caches. Further ones are ignored.
LONGEST_LINE = 10_000
MOST_A_SECOND = 100.0
MOST_BOOTS = 1024
MOST_COMPLAINTS = 256
MOST_MESHES = 8
SAY_AGAIN = 60.0  # s before an identical rejection is reported again


class AdvertLimiter:
    """Limits the rate of processed adverts, and the number of services, meshes and reported rejections.

    Adverts wait in a queue, once per service. `ignored` counts adverts and reports beyond a limit. Callers
    add adverts that they ignore for other reasons.
    """

    def __init__(self) -> None:
        self.ignored = 0
        self._line: OrderedDict[str, None] = OrderedDict()
        self._services: set[str] = set()
        self._allowed = MOST_A_SECOND
        self._refilled = float("-inf")
        self._meshes: set[str] = set()
        self._complaints: OrderedDict[tuple[str, str], float] = OrderedDict()

    def __len__(self) -> int:
        """Return the number of services that are kept."""
        return len(self._services)

    @property
    def is_waiting(self) -> bool:
        return bool(self._line)

    def add_service(self, instance: str) -> None:
        """Queue the service `instance`, which was announced or has changed, unless the queue is full."""
        if instance not in self._line and len(self._line) >= LONGEST_LINE:
            self.ignored += 1
        else:
            self._line[instance] = None

    def take(self, now: float) -> list[str]:
        """Remove and return the services to process now, in order of arrival.

        On average at most MOST_A_SECOND services are returned per second.
        """
        self._allowed = min(MOST_A_SECOND, self._allowed + (now - self._refilled) * MOST_A_SECOND)
        self._refilled = now
        taken = [self._line.popitem(last=False)[0] for _ in range(min(int(self._allowed), len(self._line)))]
        self._allowed -= len(taken)
        return taken

    def keep(self, instance: str) -> bool:
        """Keep the service if there is space for it, and return whether it is kept.

        Call only for proven adverts. Otherwise adverts of strangers could use up the space.
        """
        if instance not in self._services and len(self._services) >= MOST_SERVICES:
            self.ignored += 1
            return False
        self._services.add(instance)
        return True

    def remove_service(self, instance: str) -> None:
        """Remove a withdrawn or expired service, also from the queue."""
        self._line.pop(instance, None)
        self._services.discard(instance)

    def is_new_mesh(self, mesh: str) -> bool:
        """Return whether to report `mesh` to users, which is true only at the first call for each mesh.

        At most MOST_MESHES meshes are reported.
        """
        if mesh in self._meshes or len(self._meshes) >= MOST_MESHES:
            self.ignored += mesh not in self._meshes
            return False
        self._meshes.add(mesh)
        return True

    def is_news(self, rejected: Rejected, now: float) -> bool:
        """Return whether to report `rejected` to users.

        A rejection with the same instance and code is reported again after SAY_AGAIN seconds. In that time,
        at most MOST_COMPLAINTS are reported.
        """
        about = (rejected.instance, rejected.code)
        if now - self._complaints.get(about, float("-inf")) < SAY_AGAIN:
            return False
        self._complaints.pop(about, None)
        while self._complaints and now - next(iter(self._complaints.values())) >= SAY_AGAIN:
            self._complaints.popitem(last=False)
        if len(self._complaints) >= MOST_COMPLAINTS:
            self.ignored += 1
            return False
        self._complaints[about] = now
        return True


class Boots:
    """Remembers the highest boots of the latest MOST_BOOTS nodes, and rejects adverts of earlier boots.

    An advert of an earlier boot is replayed or comes from an old process. A node is identified by uuid and
    key here, because another member may sign adverts for any uuid with its own key.
    """

    def __init__(self) -> None:
        self._highest: OrderedDict[tuple[bytes, bytes], int] = OrderedDict()

    def judge(self, advert: Advert) -> Advert | Rejected:
        """Return `advert`, or a rejection if a higher boot of its node is remembered.

        Call only for proven adverts.
        """
        node = advert.uuid, advert.key
        highest = max(advert.boot, self._highest.pop(node, 0))
        self._highest[node] = highest
        if len(self._highest) > MOST_BOOTS:
            self._highest.popitem(last=False)
        if advert.boot < highest:
            return Rejected(
                advert.instance,
                f"an old advert of {advert.name} was replayed: boot {advert.boot}, but {highest} is known",
                "ADVERT_REPLAYED",
            )
        return advert
