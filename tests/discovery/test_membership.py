from random import Random

from hypothesis import given
from hypothesis import strategies as st

from mesh.discovery.member import Member, Node, NodeLife, Rumour
from mesh.discovery.membership import (
    Conflict,
    Dead,
    Joined,
    Left,
    MemberEvent,
    Membership,
    Moved,
    NameClash,
    Restarted,
    Sighted,
    Suspected,
    SuspicionRefuted,
)
from mesh.discovery.requests import DiscoveryRequest
from tests.discovery.nodes import (
    AT,
    ELSEWHERE,
    HERON,
    ME,
    dead_heron,
    kinds,
    member,
    membership,
    node,
    rumour,
    state,
    until,
    uuid,
)

ALIVE, SUSPECT, DEAD, LEFT, SEEN = (
    NodeLife.ALIVE,
    NodeLife.SUSPECT,
    NodeLife.DEAD,
    NodeLife.LEFT,
    NodeLife.SEEN,
)


def test_a_new_membership_holds_only_ourselves_and_we_never_die() -> None:
    members = membership()
    assert members.all() == members.alive() == [members.me]
    assert members.me == Member(ME, "self", ALIVE, 0.0)
    assert members.by_name("me") == members.me
    assert members.count == 1
    assert members.deadline() == float("inf")
    assert members.tick(1e9) == []


# --- hearsay without life -----------------------------------------------------------------------------------


def test_being_told_of_a_node_makes_it_seen_and_its_own_word_makes_it_alive() -> None:
    members = membership()
    seen = member(node("heron"), SEEN, 1.0, "seed")
    assert members.sight(node("heron"), "seed", 1.0) == [Sighted(seen)]
    assert members.alive() == [members.me]
    alive = member(node("heron"), ALIVE, 2.0, "seed")
    assert members.on_introduction(node("heron"), 2.0) == [Joined(alive)]
    assert members.alive() == [members.me, alive]


def test_the_same_hearsay_again_is_no_news() -> None:
    members = membership()
    members.sight(node("heron"), "seed", 1.0)
    assert members.sight(node("heron"), "gossip", 2.0) == []


def test_the_best_way_in_which_a_node_was_found_is_kept() -> None:
    members = membership("heron")
    for via, best in [("gossip", "gossip"), ("mdns", "mdns"), ("seed", "mdns"), ("hello", "mdns")]:
        assert members.sight(node("heron"), via, 1.0) == []
        found = members.member_of(HERON)
        assert found is not None
        assert found.via == best


def test_being_told_of_a_node_never_changes_one_that_is_alive() -> None:
    members = membership("heron")
    assert members.sight(node("heron", 9, ELSEWHERE), "hello", 1.0) == []
    assert members.alive()[1] == member(node("heron"), ALIVE, 0.0)


def test_a_seen_or_dead_node_at_another_address_is_worth_dialling() -> None:
    members = membership()
    members.sight(node("heron"), "seed", 0.0)
    moved = node("heron", address=ELSEWHERE)
    assert members.sight(moved, "gossip", 1.0) == [Sighted(member(moved, SEEN, 0.0, "seed"))]
    members = dead_heron()
    [sighted] = members.sight(moved, "gossip", 11.0)
    assert isinstance(sighted, Sighted)
    assert (sighted.member.state, sighted.member.address) == (DEAD, ELSEWHERE)


def test_a_dead_node_with_a_higher_boot_is_worth_dialling_but_a_made_up_boot_shuts_nobody_out() -> None:
    members = dead_heron()
    assert members.sight(node("heron"), "mdns", 11.0) == []
    assert members.sight(node("heron", 0), "mdns", 11.0) == []
    [sighted] = members.sight(node("heron", 2**20), "mdns", 11.0)
    assert isinstance(sighted, Sighted)
    assert sighted.member.state is SEEN
    assert kinds(members.on_introduction(node("heron", 2), 12.0)) == ["Joined"]
    assert members.old_news == 0


def test_a_boot_that_left_is_not_worth_dialling_and_a_higher_one_is() -> None:
    members = membership("heron")
    members.on_goodbye(HERON, 1, 1.0)
    assert members.sight(node("heron", 1, ELSEWHERE), "mdns", 2.0) == []
    assert kinds(members.sight(node("heron", 2), "mdns", 2.0)) == ["Sighted"]
    assert members.on_introduction(node("heron", 1), 3.0) == []
    assert kinds(members.on_introduction(node("heron", 2), 3.0)) == ["Joined"]


def test_a_node_that_never_speaks_is_forgotten_after_ten_minutes_and_a_dead_one_after_a_day() -> None:
    members = membership()
    members.sight(node("heron"), "seed", 1.0)
    members.rumoured(b"?" * 16, (rumour(DEAD, "ibis"),), 2.0)
    until(members, 600.0)
    assert (state(members, "heron"), state(members, "ibis")) == (SEEN, DEAD)
    until(members, 611.0)
    assert (state(members, "heron"), state(members, "ibis")) == (None, DEAD)
    until(members, 86_402.0)
    assert state(members, "ibis") is DEAD
    until(members, 86_422.0)
    assert members.all() == [members.me]
    assert members.deadline() >= 86_422.0


# --- laws ---------------------------------------------------------------------------------------------------

NAMES = "abcd"
HEARD = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(1, 5)), max_size=20)


@given(HEARD, st.randoms(use_true_random=False))
def test_the_order_of_hearing_does_not_change_the_final_boots(
    heard: list[tuple[str, int]], shuffle: Random
) -> None:
    def boots(order: list[tuple[str, int]]) -> dict[str, int]:
        members = membership()
        for i, (name, boot) in enumerate(order):
            members.on_introduction(node(name, boot), 31.0 * i)  # too far apart for a conflict
        return {member.name: member.boot for member in members.all()}

    other = list(heard)
    shuffle.shuffle(other)
    assert boots(heard) == boots(other)
    assert boots(heard) == {"me": 3} | {name: max(b for n, b in heard if n == name) for name, _ in heard}


STEP = st.tuples(
    st.sampled_from(
        ["hear", "heard", "sight", "leave", "tick", "rumour", "rumour", "probe", "probe for", "hint", "lag"]
    ),
    st.sampled_from(NAMES),
    st.sampled_from(["x", "y", "z"]),
    st.integers(1, 3),
    st.sampled_from([AT, ELSEWHERE]),
    st.sampled_from([ALIVE, SUSPECT, DEAD, LEFT]),
    st.integers(0, 3),
    st.floats(0, 12),
)
Step = tuple[str, str, str, int, str, NodeLife, int, float]


@given(st.lists(STEP, max_size=40), st.booleans())
def test_what_is_told_of_each_node_makes_sense_in_its_order(scenario: list[Step], is_crowd: bool) -> None:
    members = membership(*(f"n{i}" for i in range(32)) if is_crowd else ())
    alive = {m.uuid: m.state for m in members.alive()}
    now = 0.0
    for step in scenario:
        now += step[-1]
        for event in happen(members, step, now):
            if isinstance(event, MemberEvent):
                follow(event, alive)
        assert {m.uuid: m.state for m in members.alive()} == alive
        assert members.count == len(alive)
        names = [m.name for m in members.alive()]
        assert len(names) == len(set(names))


def happen(members: Membership, step: Step, now: float) -> list[MemberEvent | DiscoveryRequest]:
    what, who, name, boot, address, presence, incarnation, _ = step
    who_is = Node(uuid(who), name, boot, address)
    rumours = (Rumour(who_is, incarnation, presence, uuid("n1")),)
    match what:
        case "hear":
            return members.on_introduction(who_is, now)
        case "heard":
            return members.on_message(who_is.uuid, now)
        case "sight":
            return members.sight(who_is, "gossip", now)
        case "leave":
            return members.on_goodbye(who_is.uuid, boot, now)
        case "rumour":
            return members.rumoured(uuid("a"), rumours, now)
        case "probe":
            return members.probe(who_is.uuid, 1, ME.uuid, ME.boot, (), now)
        case "probe for":
            return members.probe_for(uuid("a"), 1, who_is, (), now)
        case "hint":
            results = members.probe_disconnected(who_is.uuid, now)
            return results + members.on_dial_probe(who_is.uuid, True, now)
        case "lag":
            members.postpone(0.5)
    return members.tick(now)


def follow(event: MemberEvent, alive: dict[bytes, NodeLife]) -> None:
    """Check the order: Joined; Restarted, Moved, Suspected or SuspicionRefuted; Dead, Left or Conflict."""
    match event:
        case Joined(m):
            assert m.uuid not in alive
            alive[m.uuid] = ALIVE
        case Dead(m) | Left(m) | Conflict(m):
            del alive[m.uuid]
        case Suspected(m):
            assert alive[m.uuid] is ALIVE
            alive[m.uuid] = SUSPECT
        case SuspicionRefuted(m):
            assert alive[m.uuid] is SUSPECT
            alive[m.uuid] = ALIVE
        case Restarted(m, old_boot):
            assert m.boot != old_boot
            assert m.uuid in alive
            alive[m.uuid] = ALIVE
        case Moved(m, old_address):
            assert m.uuid in alive
            assert m.address != old_address
        case Sighted(m):
            assert m.uuid not in alive
        case NameClash(holder, newcomer):
            assert holder.uuid in alive or holder.state is NodeLife.CONFLICT
            assert (holder.name, holder.uuid != newcomer.uuid) == (newcomer.name, True)
