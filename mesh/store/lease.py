"""Decides which process owns a store that several could open. Pure functions of times, without a clock."""

from dataclasses import dataclass

# Law 1: a holder stops by its own clock before the lease expires by the database's clock. The holder
#        counts from the time when a renewal was sent, the database from a later time. So a slow answer
#        cannot prolong the use.
# Law 2: a lease is taken only after it has expired by the database's clock, and each holder gets an epoch
#        above all earlier ones.
# Law 3: an expired lease is lost, even if no other process has taken it. Thus the table shows which process
#        may write.

FENCED = "FENCED"
LEASE_LOST = "LEASE_LOST"


@dataclass(frozen=True, slots=True)
class LeaseTiming:
    """Times of a lease in seconds, all derived from `ttl`."""

    ttl: float = 10.0

    @property
    def interval(self) -> float:
        """The seconds between renewals, 3 by default."""
        return 0.3 * self.ttl

    @property
    def retry(self) -> float:
        """The seconds between attempts, or between checks of a foreign lease, 0.25 by default."""
        return 0.025 * self.ttl

    @property
    def patience(self) -> float:
        """The seconds to wait for a lock, and for which a transaction may idle; 4 by default.

        The value is below `ttl`, so that the open transaction of a stopped holder ends before its lease does.
        """
        return 0.4 * self.ttl

    @property
    def useful(self) -> float:
        """The seconds for which a holder relies on a renewal, 8 by default.

        The rest allows for clock drift.
        """
        return 0.8 * self.ttl


@dataclass(frozen=True, slots=True)
class LeaseClaim:
    """A node's claim on a resource: its uuid (`holder`), its boot, and its host and process for display."""

    resource: str
    holder: bytes
    boot: int
    place: str


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease in the database. `left` is in seconds, 0 or less after its expiry."""

    holder: bytes
    boot: int
    place: str
    epoch: int
    left: float

    def __str__(self) -> str:
        return f"boot {self.boot} of node {self.holder.hex()[:8]} at {self.place}, epoch {self.epoch}"


def serves_until(sent: float, terms: LeaseTiming) -> float:
    """Return when a holder must stop, if its last successful renewal was sent at `sent`."""
    return sent + terms.useful


def may_serve(sent: float, now: float, terms: LeaseTiming) -> bool:
    return now < serves_until(sent, terms)


def pause(sent: float, failed: bool, now: float, terms: LeaseTiming) -> float:
    """Return the seconds until the next renewal.

    The last successful renewal was sent at `sent`. With `failed`, a later attempt has failed.
    """
    return terms.retry if failed else max(0.0, sent + terms.interval - now)


def may_take(lease: Lease) -> bool:
    return lease.left <= 0


def refusal(lease: Lease | None, epoch: int) -> str:
    """Return why the holder of `epoch` may not write: FENCED, LEASE_LOST, or "" if it may."""
    if lease is None or lease.epoch != epoch:
        return FENCED
    return "" if lease.left > 0 else LEASE_LOST
