from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovery.member import Member, Node, NodeLife, Rumour
from discovery.membership import (
    CAPACITY,
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
    Trusted,
)
from discovery.requests import DiscoveryRequest
from tests.discovery.nodes import (
    AT,
    ELSEWHERE,
    HERON,
    IBIS,
    ME,
    STORK,
    accusations,
    crowd,
    kinds,
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


def member(
    which: Node, state: NodeLife, heard: float, via: str = "hello", since: float | None = None
) -> Member:
    return Member(which, via, state, heard, since=heard if since is None else since)


def dead_heron(now: float = 9.0) -> Membership:
    members = membership("heron", "ibis")
    members.rumoured(IBIS, (rumour(DEAD),), now)
    return members


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
    assert members.hear(node("heron"), 2.0) == [Joined(alive)]
    assert members.alive() == [members.me, alive]


def test_the_same_hearsay_again_is_no_news() -> None:
    members = membership()
    members.sight(node("heron"), "seed", 1.0)
    assert members.sight(node("heron"), "gossip", 2.0) == []


def test_the_best_way_in_which_a_node_was_found_is_kept() -> None:
    members = membership("heron")
    for via, best in [("gossip", "gossip"), ("mdns", "mdns"), ("seed", "mdns"), ("hello", "mdns")]:
        assert members.sight(node("heron"), via, 1.0) == []
        found = members.of(HERON)
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
    assert kinds(members.hear(node("heron", 2), 12.0)) == ["Joined"]
    assert members.old_news == 0


def test_a_boot_that_left_is_not_worth_dialling_and_a_higher_one_is() -> None:
    members = membership("heron")
    members.leave(HERON, 1, 1.0)
    assert members.sight(node("heron", 1, ELSEWHERE), "mdns", 2.0) == []
    assert kinds(members.sight(node("heron", 2), "mdns", 2.0)) == ["Sighted"]
    assert members.hear(node("heron", 1), 3.0) == []
    assert kinds(members.hear(node("heron", 2), 3.0)) == ["Joined"]


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


# --- what a node says itself --------------------------------------------------------------------------------


def test_old_news_is_no_news_and_is_counted() -> None:
    members = membership()
    members.hear(node("heron", 5), 0.0)
    assert members.hear(node("heron", 4, ELSEWHERE), 9.0) == []
    assert members.leave(HERON, 4, 9.0) == []
    assert members.old_news == 2
    assert members.alive()[1] == member(node("heron", 5), ALIVE, 0.0)


def test_a_higher_boot_of_an_alive_node_is_a_restart() -> None:
    members = membership("heron")
    reborn = node("heron", 2, ELSEWHERE)
    assert members.hear(reborn, 1.0) == [Restarted(member(reborn, ALIVE, 1.0), 1)]


def test_an_alive_node_that_shows_another_address_has_moved() -> None:
    members = membership("heron")
    moved = node("heron", address=ELSEWHERE)
    assert members.hear(moved, 1.0) == [Moved(member(moved, ALIVE, 1.0, since=0.0), AT)]


def test_an_alive_node_whose_gossip_is_elsewhere_has_moved_as_well() -> None:
    members = membership("heron")
    moved = node("heron", gossip="tcp://127.0.0.1:7011")
    assert members.hear(moved, 1.0) == [Moved(member(moved, ALIVE, 1.0, since=0.0), AT)]
    assert members.hear(moved, 2.0) == []


def test_a_node_that_says_goodbye_has_left_and_is_not_called_dead_later() -> None:
    members = membership("heron")
    assert members.leave(HERON, 1, 1.0) == [Left(member(node("heron"), LEFT, 1.0))]
    assert members.leave(HERON, 1, 2.0) == []
    assert all(not isinstance(result, MemberEvent) for _, result in until(members, 60.0))


def test_packets_that_the_goodbye_overtook_do_not_raise_the_node_again() -> None:
    members = membership("heron")
    members.leave(HERON, 1, 1.0)
    assert members.hear(node("heron"), 1.1) == []
    assert members.heard(HERON, 1.1) == []
    assert members.probe(HERON, 1, ME.uuid, ME.boot, (), 1.1)[:-1] == []
    assert members.old_news == 1
    assert kinds(members.hear(node("heron", 2), 2.0)) == ["Joined"]


@pytest.mark.parametrize("some", [membership, crowd])
def test_packets_that_the_goodbye_overtook_are_old_though_others_tell_of_the_next_boot(
    some: Callable[..., Membership],
) -> None:
    members = some("heron", "ibis")
    members.leave(HERON, 1, 1.0)
    for boot in (2, 3):
        members.rumoured(IBIS, (rumour(ALIVE, boot=boot),), 1.1)
    assert members.hear(node("heron", 1), 1.2) == []
    assert members.old_news == 1
    assert members.hear(node("heron", 2), 1.3) != []
    found = members.of(HERON)
    assert found is not None
    assert (found.state, found.boot) == (ALIVE, 2), "who speaks itself is right: there was never a third boot"


def test_a_goodbye_of_a_boot_that_we_missed_counts_as_well() -> None:
    members = membership("heron")
    assert members.leave(HERON, 7, 1.0) == [Left(member(node("heron", 7), LEFT, 1.0))]
    assert members.hear(node("heron", 6), 2.0) == members.hear(node("heron", 7), 2.0) == []


def test_a_dead_node_whose_goodbye_comes_late_has_left_without_a_second_word() -> None:
    members = dead_heron()
    assert members.leave(HERON, 1, 11.0) == []
    assert state(members, "heron") is LEFT


def test_a_goodbye_from_someone_unknown_or_only_seen_is_nothing() -> None:
    members = membership()
    members.sight(node("heron"), "seed", 0.0)
    assert members.leave(HERON, 1, 1.0) == members.leave(IBIS, 1, 1.0) == []
    assert state(members, "heron") is SEEN


def test_nobody_can_speak_for_ourselves() -> None:
    members = membership("heron")
    other = Node(ME.uuid, "mee", 99, ELSEWHERE)
    assert members.hear(other, 1.0) == members.sight(other, "mdns", 1.0) == []
    assert members.leave(ME.uuid, 99, 1.0) == []
    assert members.disconnected(ME.uuid, 1.0) == members.knocked(ME.uuid, True, 1.0) == []
    assert members.me == Member(ME, "self", ALIVE, 0.0)


def test_a_dead_node_that_speaks_is_alive_and_told_to_deny_its_death() -> None:
    members = dead_heron()
    (joined,) = members.hear(node("heron"), 11.0)
    assert joined == Joined(member(node("heron"), ALIVE, 11.0))
    for _ in range(9):  # with each packet, since any may be lost
        assert accusations(members) == [Rumour(node("heron"), 0, DEAD)]
    assert members.rumoured(HERON, (rumour(ALIVE, incarnation=1),), 14.0) == []
    assert [said.state for said in accusations(members)] == [ALIVE], "what all are told"


def test_who_was_called_dead_and_denied_it_is_suspected_by_all_when_one_suspects_it_again() -> None:
    # Else each would suspect it alone, and wait three times as long for others to agree.
    members = dead_heron()
    members.hear(node("heron"), 11.0)
    members.rumoured(HERON, (rumour(ALIVE, incarnation=1),), 11.1)
    suspected = members.rumoured(IBIS, (rumour(SUSPECT, incarnation=1),), 20.0)
    assert kinds(suspected) == ["Suspected"]


def test_of_whom_nothing_bad_counts_nobody_is_told_to_deny_anything() -> None:
    members = membership("heron", "ibis")
    assert [said.state for said in accusations(members)] == [ALIVE]
    members.rumoured(IBIS, (rumour(SUSPECT),), 11.0)
    assert state(members, "heron") is ALIVE, "it has just spoken"
    assert [said.state for said in accusations(members)] == [SUSPECT], "but others may believe it"


def test_a_dead_node_that_asks_us_on_a_connection_it_still_has_is_alive_as_well() -> None:
    members = dead_heron()
    assert kinds(members.probe(HERON, 1, ME.uuid, ME.boot, (), 11.0)) == ["Joined", "Lives"]


def test_what_was_still_under_way_from_a_dead_node_does_not_raise_it() -> None:
    members = dead_heron()
    assert members.heard(HERON, 9.1) == []
    assert state(members, "heron") is DEAD


# --- names --------------------------------------------------------------------------------------------------


def test_a_newcomer_with_the_name_of_an_alive_node_is_not_admitted() -> None:
    members = membership("heron")
    newcomer = Node(IBIS, "heron", 1, ELSEWHERE)
    clash = NameClash(member(node("heron"), ALIVE, 0.0), member(newcomer, ALIVE, 1.0))
    assert members.hear(newcomer, 1.0) == [clash]
    assert members.of(IBIS) is None


def test_a_suspect_keeps_its_name() -> None:
    members = membership("heron", "ibis", "stork")
    members.rumoured(IBIS, (rumour(SUSPECT),), 9.0)
    assert kinds(members.hear(Node(b"x" * 16, "heron", 1, AT), 10.0)) == ["NameClash"]


def test_a_newcomer_with_our_own_name_is_not_admitted() -> None:
    members = membership()
    [clash] = members.hear(Node(HERON, "me", 1, AT), 1.0)
    assert isinstance(clash, NameClash)
    assert clash.holder == members.me


def test_an_alive_node_cannot_take_the_name_of_another_one() -> None:
    members = membership("heron", "ibis")
    assert kinds(members.hear(Node(IBIS, "heron", 2, ELSEWHERE), 1.0)) == ["NameClash"]
    ibis = members.by_name("ibis")
    assert ibis is not None
    assert ibis.boot == 1


def test_a_newcomer_gets_the_name_of_a_dead_node_which_does_not_get_it_back() -> None:
    members = dead_heron()
    newcomer = Node(STORK, "heron", 1, ELSEWHERE)
    assert members.hear(newcomer, 11.0) == [Joined(member(newcomer, ALIVE, 11.0))]
    assert members.by_name("heron") == members.of(STORK)
    assert kinds(members.hear(node("heron"), 12.0)) == ["NameClash"]
    assert kinds(members.probe(HERON, 1, ME.uuid, ME.boot, (), 12.0)) == ["Lives"]
    assert state(members, "heron") is DEAD


def test_a_newcomer_gets_the_name_of_a_node_that_left() -> None:
    members = membership("heron")
    members.leave(HERON, 1, 1.0)
    assert kinds(members.hear(Node(IBIS, "heron", 1, ELSEWHERE), 2.0)) == ["Joined"]


def test_hearsay_holds_no_name() -> None:
    members = membership()
    members.sight(node("heron"), "seed", 0.0)
    [joined] = members.hear(Node(IBIS, "heron", 1, ELSEWHERE), 1.0)
    assert isinstance(joined, Joined)
    assert members.by_name("heron") == joined.member
    assert state(members, "heron") is SEEN
    assert members.by_name("stork") is None


def test_a_new_boot_may_come_with_another_name() -> None:
    members = membership("heron")
    assert kinds(members.hear(Node(HERON, "egret", 2, AT), 1.0)) == ["Restarted"]
    assert members.by_name("heron") is None
    assert members.by_name("egret") == members.of(HERON)


# --- room ---------------------------------------------------------------------------------------------------


def number(i: int) -> bytes:
    return i.to_bytes(16, "big")


def numbered(i: int) -> Node:
    return Node(number(i), f"n{i}", 1, AT)


def test_a_full_table_takes_no_hearsay_but_makes_room_for_one_that_speaks() -> None:
    members = membership("heron")
    for i in range(2, CAPACITY):
        members.sight(numbered(i), "seed", float(i))
    assert members.sight(node("ibis"), "seed", 9000.0) == []
    assert members.rumoured(HERON, (rumour(DEAD, "ibis"), rumour(ALIVE, "ibis")), 9000.0) == []
    assert (len(members.all()), members.no_room) == (CAPACITY, 3)
    assert kinds(members.hear(node("stork"), 9000.0)) == ["Joined"]
    assert len(members.all()) == CAPACITY
    assert members.of(number(2)) is None
    members.hear(node("stork", 2), 9001.0)
    assert members.of(number(3)) is not None


def test_a_full_table_forgets_hearsay_first_and_then_who_is_longest_gone() -> None:
    members = membership()
    for i in range(1, CAPACITY - 1):
        members.hear(numbered(i), 0.0)
    members.leave(number(7), 1, 4.0)
    members.leave(number(8), 1, 5.0)
    members.sight(node("ibis"), "seed", 6.0)
    for name, forgotten in [("a", IBIS), ("b", number(7)), ("c", number(8))]:
        assert kinds(members.hear(node(name), 7.0)) == ["Joined"]
        assert members.of(forgotten) is None
    assert members.hear(node("d"), 7.0) == []
    assert (members.count, members.no_room) == (CAPACITY, 1)


# --- two processes of one node ------------------------------------------------------------------------------


def conflict() -> Membership:
    members = membership("ibis")
    members.hear(node("heron", 5), 10.0)
    members.hear(node("heron", 6, ELSEWHERE), 12.0)
    [clash] = members.hear(node("heron", 5), 13.0)
    assert isinstance(clash, Conflict)
    assert clash.member.state is NodeLife.CONFLICT
    return members


def heron_after(members: Membership, end: float) -> Member:
    until(members, end)
    found = members.of(HERON)
    assert found is not None
    return found


def test_an_older_process_that_speaks_after_the_newer_one_is_a_conflict_and_neither_is_alive() -> None:
    members = conflict()
    assert {m.name for m in members.alive()} == {"me", "ibis"}
    assert members.hear(node("heron", 6, ELSEWHERE), 14.0) == members.hear(node("heron", 5), 14.0) == []
    assert members.heard(HERON, 14.0) == []
    assert members.rumoured(IBIS, (rumour(ALIVE, boot=6, incarnation=3),), 14.0) == []


def test_the_newer_process_is_alive_again_when_the_older_one_is_silent() -> None:
    members = conflict()
    members.hear(node("heron", 6, ELSEWHERE), 20.0)
    found = heron_after(members, 22.9)
    assert found.state is NodeLife.CONFLICT
    assert heron_after(members, 23.1).state is ALIVE
    assert members.of(HERON) is not None
    assert heron_after(members, 23.1).boot == 6


def test_the_older_process_is_alive_again_when_the_newer_one_is_silent() -> None:
    members = conflict()
    members.hear(node("heron", 5), 21.0)
    found = heron_after(members, 23.5)
    assert (found.state, found.boot) == (ALIVE, 5)
    assert members.hear(node("heron", 5), 23.6) == []
    assert kinds(members.hear(node("heron", 6), 24.0)) == ["Restarted"]


def test_as_long_as_both_speak_the_conflict_lasts_and_when_both_are_silent_the_node_is_dead() -> None:
    members = conflict()
    for second in range(14, 60, 4):
        members.hear(node("heron", 5), float(second))
        members.hear(node("heron", 6, ELSEWHERE), second + 1.0)
        assert heron_after(members, second + 2.0).state is NodeLife.CONFLICT
    assert heron_after(members, 80.0).state is DEAD


@pytest.mark.parametrize("boot", [5, 6])
def test_after_a_conflict_in_which_both_fell_silent_whoever_speaks_first_is_it(boot: int) -> None:
    members = conflict()
    assert heron_after(members, 30.0).state is DEAD
    assert kinds(members.hear(node("heron", boot), 31.0))[0] == "Joined"
    assert heron_after(members, 31.1).boot == boot


def test_a_conflict_that_seemed_to_be_over_begins_again_with_the_next_word_of_the_other_one() -> None:
    members = conflict()
    members.hear(node("heron", 6, ELSEWHERE), 20.0)
    assert heron_after(members, 23.1).state is ALIVE
    assert kinds(members.hear(node("heron", 5), 40.0)) == ["Conflict"]


def test_a_goodbye_of_one_ends_the_conflict_for_the_other() -> None:
    members = conflict()
    assert members.leave(HERON, 6, 14.0) == []
    members.hear(node("heron", 5), 14.5)
    found = heron_after(members, 23.5)
    assert (found.state, found.boot) == (ALIVE, 5)


def test_an_older_boot_that_speaks_long_after_the_restart_is_only_old_news() -> None:
    members = membership("heron")
    members.hear(node("heron", 2), 1.0)
    assert members.hear(node("heron", 1), 31.5) == []
    assert state(members, "heron") is ALIVE


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
            members.hear(node(name, boot), 31.0 * i)  # too far apart for a conflict
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
def test_what_is_told_of_each_node_makes_sense_in_its_order(story: list[Step], is_crowd: bool) -> None:
    members = membership(*(f"n{i}" for i in range(32)) if is_crowd else ())
    alive = {m.uuid: m.state for m in members.alive()}
    now = 0.0
    for step in story:
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
            return members.hear(who_is, now)
        case "heard":
            return members.heard(who_is.uuid, now)
        case "sight":
            return members.sight(who_is, "gossip", now)
        case "leave":
            return members.leave(who_is.uuid, boot, now)
        case "rumour":
            return members.rumoured(uuid("a"), rumours, now)
        case "probe":
            return members.probe(who_is.uuid, 1, ME.uuid, ME.boot, (), now)
        case "probe for":
            return members.probe_for(uuid("a"), 1, who_is, (), now)
        case "hint":
            results = members.disconnected(who_is.uuid, now)
            return results + members.knocked(who_is.uuid, True, now)
        case "lag":
            members.lagged(0.5)
    return members.tick(now)


def follow(event: MemberEvent, alive: dict[bytes, NodeLife]) -> None:
    """Rule: Joined, then Restarted, Moved, Suspected and Trusted, then Dead, Left or Conflict."""
    match event:
        case Joined(m):
            assert m.uuid not in alive
            alive[m.uuid] = ALIVE
        case Dead(m) | Left(m) | Conflict(m):
            del alive[m.uuid]
        case Suspected(m):
            assert alive[m.uuid] is ALIVE
            alive[m.uuid] = SUSPECT
        case Trusted(m):
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
