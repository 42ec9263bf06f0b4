"""How much of what is called out on the network do we listen to?"""

# Anybody on the link can send adverts: all that is kept of them is bounded here, whatever comes.

from collections import OrderedDict

from discovery.adverts import Advert, Rejected

MOST_SERVICES = 1024
LONGEST_LINE = 10_000  # as many as zeroconf itself remembers: who is not in line was not heard
MOST_A_SECOND = 100.0
MOST_BOOTS = 1024
MOST_COMPLAINTS = 256
MOST_MESHES = 8
SAY_AGAIN = 60.0  # s until the same complaint about the same advert is news again


class Sieve:
    """Lets through so many adverts a second, and keeps so many services. The others wait, in a line.

    What finds the line full is only counted. A name stands there once, however often it is heard.
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
        """Services that are kept."""
        return len(self._services)

    @property
    def is_waiting(self) -> bool:
        return bool(self._line)

    def hear(self, instance: str) -> None:
        """A service called, or something it says has changed."""
        if instance not in self._line and len(self._line) >= LONGEST_LINE:
            self.ignored += 1
        else:
            self._line[instance] = None

    def take(self, now: float) -> list[str]:
        """Services to look at now, in the order in which they were heard."""
        self._allowed = min(MOST_A_SECOND, self._allowed + (now - self._refilled) * MOST_A_SECOND)
        self._refilled = now
        taken = [self._line.popitem(last=False)[0] for _ in range(min(int(self._allowed), len(self._line)))]
        self._allowed -= len(taken)
        return taken

    def keep(self, instance: str) -> bool:
        """Is there a place for it? To be asked for proven ones only, or strangers would take all places."""
        if instance not in self._services and len(self._services) >= MOST_SERVICES:
            self.ignored += 1
            return False
        self._services.add(instance)
        return True

    def forget(self, instance: str) -> None:
        """A service said goodbye, or was not heard for long: its place is free."""
        self._line.pop(instance, None)
        self._services.discard(instance)

    def is_new_mesh(self, mesh: str) -> bool:
        """Is another mesh to be told of to people? Once, and no more of them than anybody would read."""
        if mesh in self._meshes or len(self._meshes) >= MOST_MESHES:
            self.ignored += mesh not in self._meshes
            return False
        self._meshes.add(mesh)
        return True

    def is_news(self, rejected: Rejected, now: float) -> bool:
        """Is this to be told to people? The same complaint once a minute; a flood of them is counted."""
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
    """The highest boot heard of each node: an advert of an earlier one is a recording, or a ghost.

    A node is its uuid and its key: another member may sign with its own what it likes about any uuid.
    """

    def __init__(self) -> None:
        self._highest: OrderedDict[tuple[bytes, bytes], int] = OrderedDict()

    def judge(self, advert: Advert) -> Advert | Rejected:
        """The advert, or why it is not to be followed. To be asked about proven ones only."""
        node = advert.uuid, advert.key
        highest = max(advert.boot, self._highest.pop(node, 0))
        self._highest[node] = highest
        if len(self._highest) > MOST_BOOTS:
            self._highest.popitem(last=False)
        if advert.boot < highest:
            return Rejected(
                advert.instance,
                f"an old advert of {advert.name} is replayed: boot {advert.boot}, but {highest} was heard",
                "ADVERT_REPLAYED",
            )
        return advert
