"""Mistakes for the model of a home."""

from __future__ import annotations

from collections.abc import Iterator

from mesh.flow.leash import may_grant_claim
from tools.models.planting import Mistake
from tools.models.transactions.home import leash, lock, model, state
from tools.models.transactions.home.state import Home, Limits, Pair, State, Voter, with_home

ONE, CUT, CRASH = "one home", "leash, cut", "leash, crash"
granted = lock.granted


def granted_early(limits: Limits, state: State, h: int, c: int, token: Pair) -> State:
    home = state.homes[h]
    after = granted(limits, state, h, c, token)
    uncommitted = home.grants, home.owner, home.token
    return with_home(after, h, after.homes[h]._replace(uncommitted=uncommitted))


def committed_late(state: State, h: int) -> Iterator[tuple[str, State]]:
    if state.homes[h].uncommitted:
        yield f"H{h} commits", with_home(state, h, state.homes[h]._replace(uncommitted=None))


def without_uncommitted(home: Home) -> Home:
    if not home.uncommitted:
        return home
    count, owner, token = home.uncommitted
    return home._replace(grants=count, owner=owner, token=token, uncommitted=None)


def jump(state: State) -> Iterator[tuple[str, State]]:
    homes = tuple(home._replace(lease=0) for home in state.homes)
    if homes != state.homes:
        yield "clock jumps", state._replace(homes=homes)


def granted_at_once(claimed: int, promised: int, silence: int, is_handed_over: bool) -> bool:
    return may_grant_claim(claimed, promised, 0, is_handed_over)


def voter_without_silence(limits: Limits, voter: Voter) -> Voter:
    return Voter(True, voter.promised, 0)


def voter_without_promise(limits: Limits, voter: Voter) -> Voter:
    return Voter(True, 1, limits.silence)


HOME_MISTAKES = {
    "token from memory": Mistake(ONE, ((model, "home_at_start", lambda home: home._replace(grants=0)),)),
    "grant before the commit": Mistake(
        ONE,
        (
            (lock, "granted", granted_early),
            (lock, "commits", committed_late),
            (model, "durable", without_uncommitted),
        ),
    ),
    "old leases over at a restart": Mistake(ONE, ((model, "lease_at_start", lambda lease: 0),)),
    "lease on the wall clock": Mistake(ONE, ((model, "clock_steps", jump),)),
    "lease counted from the answer": Mistake(ONE, ((lock, "lease_at_client", lambda lease, age: lease),)),
    "hand-over before its commit": Mistake(ONE, ((leash, "marked", lambda state: state),)),
    "generation not raised": Mistake(ONE, ((leash, "next_generation", lambda promised: promised),)),
    "forced move keeps the versions": Mistake(
        "one home, key", ((leash, "version_after_force", lambda generation, version: version),)
    ),
    "leash not checked": Mistake(CUT, ((state, "may_serve", lambda is_home, has_voters, leash: is_home),)),
    "leash counted from the reply": Mistake(CUT, ((leash, "leash_left", lambda leash, age: leash),)),
    "voter votes while the home lives": Mistake(CUT, ((leash, "may_grant_claim", granted_at_once),)),
    "new home grants at once": Mistake(
        "leash, cut, long lease", ((leash, "quiet_time", lambda lease, is_handed_over: 0),)
    ),
    "restarted voter votes at once": Mistake(CRASH, ((model, "voter_at_start", voter_without_silence),)),
    "promise not kept over a restart": Mistake(CRASH, ((model, "voter_at_start", voter_without_promise),)),
}
