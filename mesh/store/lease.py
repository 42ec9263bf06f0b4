"""Who has a store that several could open, and may it go on? Decided from times, without a clock."""

from dataclasses import dataclass

# Law 1: a holder stops by its own clock before the lease runs out by the database's. It counts from when
#        a renewal was sent, since the database counts from later: a slow answer cannot make it stay longer.
# Law 2: a lease is taken only once it has run out by the database's clock, and each holder gets an epoch
#        above all before it.
# Law 3: what has run out is lost, though nobody has taken it yet. So who may write can be read in the table.

FENCED = "FENCED"
LEASE_LOST = "LEASE_LOST"


@dataclass(frozen=True, slots=True)
class LeaseTiming:
    """The times of a lease, in seconds; all others are shares of `ttl`."""

    ttl: float = 10.0

    @property
    def interval(self) -> float:
        """Seconds between renewals: 3."""
        return 0.3 * self.ttl

    @property
    def retry(self) -> float:
        """Seconds until a renewal, or a look at another's lease, is tried again: 0.25."""
        return 0.025 * self.ttl

    @property
    def patience(self) -> float:
        """Seconds that a lock is waited for, and that a transaction may stand idle: 4.

        Less than the lease runs, so that a stopped holder's open transaction ends before its lease does.
        """
        return 0.4 * self.ttl

    @property
    def useful(self) -> float:
        """Seconds that the holder relies on a renewal; the rest, 2 s, is for clocks that differ: 8."""
        return 0.8 * self.ttl


@dataclass(frozen=True, slots=True)
class LeaseClaim:
    """A claim on a resource: a node by its uuid and boot, and the place where it runs, for people."""

    resource: str
    holder: bytes
    boot: int
    place: str


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease as the database has it now. `left`: seconds until it runs out, not above 0 when it has."""

    holder: bytes
    boot: int
    place: str
    epoch: int
    left: float

    def __str__(self) -> str:
        return f"boot {self.boot} of node {self.holder.hex()[:8]} at {self.place}, epoch {self.epoch}"


def serves_until(sent: float, terms: LeaseTiming) -> float:
    """When a holder must stop whose last successful renewal was sent then."""
    return sent + terms.useful


def may_serve(sent: float, now: float, terms: LeaseTiming) -> bool:
    return now < serves_until(sent, terms)


def pause(sent: float, failed: bool, now: float, terms: LeaseTiming) -> float:
    """Seconds until the next renewal; `failed`: one was tried since then, in vain."""
    return terms.retry if failed else max(0.0, sent + terms.interval - now)


def may_take(lease: Lease) -> bool:
    return lease.left <= 0


def refusal(lease: Lease | None, epoch: int) -> str:
    """Why the holder of that epoch may not write: FENCED, LEASE_LOST, or empty if it may."""
    if lease is None or lease.epoch != epoch:
        return FENCED
    return "" if lease.left > 0 else LEASE_LOST
