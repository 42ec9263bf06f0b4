from random import Random

from hypothesis import given
from hypothesis import strategies as st

from discovery import membership
from discovery.membership import (
    Dead,
    Event,
    Joined,
    Left,
    Member,
    Membership,
    Moved,
    NameClash,
    Presence,
    Restarted,
    Sighted,
    name_holder,
)

ME = Member(b"m" * 16, "me", 3, "tcp://127.0.0.1:1", "self", Presence.ALIVE, 0.0)
HERON, IBIS, STORK = b"h" * 16, b"i" * 16, b"s" * 16
AT, ELSEWHERE = "tcp://127.0.0.1:7001", "tcp://127.0.0.1:7999"


def table() -> Membership:
    return Membership(ME)


def with_heron(boot: int = 5, now: float = 0.0) -> Membership:
    members = table()
    members.hear(HERON, "heron", boot, AT, now)
    return members


def member(members: Membership, uuid: bytes) -> Member | None:
    return next((member for member in members.all() if member.uuid == uuid), None)


def heron(boot: int, state: Presence, heard: float, address: str = AT, via: str = "hello") -> Member:
    return Member(HERON, "heron", boot, address, via, state, heard)


def test_a_new_table_holds_only_ourselves_and_we_never_die() -> None:
    members = table()
    assert members.all() == members.alive() == [ME]
    assert members.by_name("me") == ME
    assert members.deadline() is None
    assert members.tick(1e9) == []


def test_hearsay_makes_a_node_seen_and_its_own_word_makes_it_alive() -> None:
    members = table()
    seen = heron(5, Presence.SEEN, 1.0, via="seed")
    assert members.sight(HERON, "heron", 5, AT, "seed", 1.0) == [Sighted(seen)]
    assert members.alive() == [ME]
    alive = heron(5, Presence.ALIVE, 2.0, via="seed")
    assert members.hear(HERON, "heron", 5, AT, 2.0) == [Joined(alive)]
    assert members.alive() == [ME, alive]


def test_the_same_hearsay_again_is_no_news() -> None:
    members = table()
    members.sight(HERON, "heron", 5, AT, "seed", 1.0)
    assert members.sight(HERON, "heron", 5, AT, "hello", 2.0) == []


def test_hearsay_never_changes_a_node_that_is_alive() -> None:
    members = with_heron()
    assert members.sight(HERON, "heron", 9, ELSEWHERE, "hello", 1.0) == []
    assert members.alive()[1] == heron(5, Presence.ALIVE, 0.0)


def test_hearsay_gives_a_seen_or_dead_node_a_new_address() -> None:
    members = table()
    members.sight(HERON, "heron", 5, AT, "seed", 0.0)
    moved = heron(5, Presence.SEEN, 0.0, ELSEWHERE, "seed")
    assert members.sight(HERON, "heron", 5, ELSEWHERE, "hello", 1.0) == [Sighted(moved)]
    members = with_heron()
    members.tick(10.0)
    moved = heron(5, Presence.DEAD, 0.0, ELSEWHERE)
    assert members.sight(HERON, "heron", 5, ELSEWHERE, "hello", 11.0) == [Sighted(moved)]


def test_hearsay_of_a_higher_boot_is_worth_dialling_but_does_not_shut_out_the_true_node() -> None:
    members = with_heron(boot=5)
    members.tick(10.0)
    assert members.sight(HERON, "heron", 2**63, AT, "hello", 11.0) == [Sighted(heron(5, Presence.DEAD, 0.0))]
    assert members.hear(HERON, "heron", 6, AT, 12.0) == [Joined(heron(6, Presence.ALIVE, 12.0))]


def test_a_boot_made_up_for_a_node_never_heard_does_not_shut_it_out() -> None:
    members = table()
    members.sight(HERON, "heron", 2**63, AT, "hello", 0.0)
    assert members.hear(HERON, "heron", 1, AT, 1.0) == [Joined(heron(1, Presence.ALIVE, 1.0))]
    assert members.old_news == 0


def test_hearsay_of_a_boot_that_left_is_old_news() -> None:
    members = with_heron(boot=5)
    members.leave(HERON, 5, 1.0)
    assert members.sight(HERON, "heron", 5, ELSEWHERE, "hello", 2.0) == []
    assert members.sight(HERON, "heron", 6, AT, "hello", 2.0) == [Sighted(heron(5, Presence.LEFT, 1.0))]


def test_a_node_that_never_speaks_is_forgotten_after_ten_minutes() -> None:
    members = table()
    members.sight(HERON, "heron", 5, AT, "seed", 1.0)
    assert members.deadline() == 601.0
    assert members.tick(600.9) == []
    assert member(members, HERON) is not None
    assert members.tick(601.0) == []
    assert member(members, HERON) is None


def test_a_node_that_is_silent_for_too_long_is_dead() -> None:
    members = with_heron(now=1.0)
    members.hear(HERON, "heron", 5, AT, 4.0)
    assert members.deadline() == 14.0
    assert members.tick(13.9) == []
    assert members.tick(14.0) == [Dead(heron(5, Presence.DEAD, 4.0))]
    assert members.tick(15.0) == []
    assert members.deadline() is None


def test_how_long_a_node_may_be_silent_can_be_set() -> None:
    members = Membership(ME, silence=2.0)
    members.hear(HERON, "heron", 5, AT, 0.0)
    assert members.deadline() == 2.0


def test_a_dead_node_that_speaks_again_with_the_same_boot_joins_again() -> None:
    members = with_heron()
    members.tick(10.0)
    assert members.hear(HERON, "heron", 5, AT, 11.0) == [Joined(heron(5, Presence.ALIVE, 11.0))]


def test_old_news_is_no_news_and_is_counted() -> None:
    members = with_heron(boot=5)
    assert members.hear(HERON, "heron", 4, ELSEWHERE, 9.0) == []
    assert members.leave(HERON, 4, 9.0) == []
    assert members.old_news == 2
    assert members.alive()[1] == heron(5, Presence.ALIVE, 0.0)


def test_a_higher_boot_of_an_alive_node_is_a_restart() -> None:
    members = with_heron(boot=5)
    reborn = heron(6, Presence.ALIVE, 1.0, ELSEWHERE)
    assert members.hear(HERON, "heron", 6, ELSEWHERE, 1.0) == [Restarted(reborn, 5)]


def test_an_alive_node_that_shows_another_address_has_moved() -> None:
    members = with_heron()
    moved = heron(5, Presence.ALIVE, 1.0, ELSEWHERE)
    assert members.hear(HERON, "heron", 5, ELSEWHERE, 1.0) == [Moved(moved, AT)]


def test_a_node_that_says_goodbye_has_left_and_is_not_called_dead_later() -> None:
    members = with_heron()
    assert members.leave(HERON, 5, 1.0) == [Left(heron(5, Presence.LEFT, 1.0))]
    assert members.leave(HERON, 5, 2.0) == []
    assert members.deadline() is None
    assert members.tick(1e9) == []


def test_packets_that_the_goodbye_overtook_do_not_raise_the_node_again() -> None:
    members = with_heron(boot=5)
    members.leave(HERON, 5, 1.0)
    assert members.hear(HERON, "heron", 5, AT, 1.1) == []
    assert members.old_news == 1
    assert members.hear(HERON, "heron", 6, AT, 2.0) == [Joined(heron(6, Presence.ALIVE, 2.0))]


def test_a_goodbye_of_a_boot_that_we_missed_counts_as_well() -> None:
    members = with_heron(boot=5)
    assert members.leave(HERON, 7, 1.0) == [Left(heron(7, Presence.LEFT, 1.0))]
    assert members.hear(HERON, "heron", 6, AT, 2.0) == []


def test_a_dead_node_whose_goodbye_comes_late_has_left_without_a_second_word() -> None:
    members = with_heron()
    members.tick(10.0)
    assert members.leave(HERON, 5, 11.0) == []
    assert members.all()[1] == heron(5, Presence.LEFT, 11.0)


def test_a_goodbye_from_someone_unknown_or_only_seen_is_nothing() -> None:
    members = table()
    members.sight(HERON, "heron", 5, AT, "seed", 0.0)
    assert members.leave(HERON, 5, 1.0) == []
    assert members.leave(IBIS, 5, 1.0) == []
    assert members.all()[1].state is Presence.SEEN


def test_nobody_can_speak_for_ourselves() -> None:
    members = table()
    assert members.hear(ME.uuid, "mee", 99, ELSEWHERE, 1.0) == []
    assert members.leave(ME.uuid, 99, 1.0) == []
    assert members.sight(ME.uuid, "mee", 99, ELSEWHERE, "hello", 1.0) == []
    assert members.all() == [ME]


def test_a_newcomer_with_the_name_of_an_alive_node_is_not_admitted() -> None:
    members = with_heron()
    newcomer = Member(IBIS, "heron", 1, ELSEWHERE, "hello", Presence.ALIVE, 1.0)
    clash = NameClash(heron(5, Presence.ALIVE, 0.0), newcomer)
    assert members.hear(IBIS, "heron", 1, ELSEWHERE, 1.0) == [clash]
    assert member(members, IBIS) is None


def test_a_newcomer_with_our_own_name_is_not_admitted() -> None:
    [clash] = table().hear(HERON, "me", 1, AT, 1.0)
    assert isinstance(clash, NameClash)
    assert clash.holder == ME


def test_an_alive_node_cannot_take_the_name_of_another_one() -> None:
    members = with_heron()
    members.hear(IBIS, "ibis", 1, ELSEWHERE, 0.0)
    [clash] = members.hear(IBIS, "heron", 2, ELSEWHERE, 1.0)
    assert isinstance(clash, NameClash)
    ibis = members.by_name("ibis")
    assert ibis is not None
    assert ibis.boot == 1


def test_a_newcomer_gets_the_name_of_a_dead_node_and_replaces_it() -> None:
    members = with_heron()
    members.tick(10.0)
    newcomer = Member(IBIS, "heron", 1, ELSEWHERE, "hello", Presence.ALIVE, 11.0)
    assert members.hear(IBIS, "heron", 1, ELSEWHERE, 11.0) == [Joined(newcomer)]
    assert members.all() == [ME, newcomer]
    [clash] = members.hear(HERON, "heron", 6, AT, 12.0)
    assert clash == NameClash(newcomer, heron(6, Presence.ALIVE, 12.0))


def test_a_newcomer_gets_the_name_of_a_node_that_left() -> None:
    members = with_heron()
    members.leave(HERON, 5, 1.0)
    assert isinstance(members.hear(IBIS, "heron", 1, ELSEWHERE, 2.0)[0], Joined)


def test_hearsay_holds_no_name() -> None:
    members = table()
    members.sight(HERON, "heron", 5, AT, "seed", 0.0)
    [joined] = members.hear(IBIS, "heron", 1, ELSEWHERE, 1.0)
    assert isinstance(joined, Joined)
    assert members.by_name("heron") == joined.member
    assert member(members, HERON) is not None
    assert members.by_name("stork") is None


def test_the_holder_of_a_name_is_the_alive_one_of_another_uuid() -> None:
    alive, dead = heron(5, Presence.ALIVE, 0.0), heron(5, Presence.DEAD, 0.0)
    assert name_holder([ME, alive], "heron", IBIS) == alive
    assert name_holder([ME, alive], "heron", HERON) is None
    assert name_holder([ME, dead], "heron", IBIS) is None
    assert name_holder([ME, alive], "ibis", IBIS) is None


def number(i: int) -> bytes:
    return i.to_bytes(16, "big")


def test_a_full_table_takes_no_hearsay_but_makes_room_for_one_that_speaks() -> None:
    members = with_heron()
    for i in range(2, membership.CAPACITY):
        members.sight(number(i), f"n{i}", 1, AT, "seed", float(i))
    members.sight(IBIS, "ibis", 1, AT, "seed", 9000.0)
    assert (len(members.all()), members.no_room) == (membership.CAPACITY, 1)
    assert isinstance(members.hear(STORK, "stork", 1, AT, 9000.0)[0], Joined)
    assert len(members.all()) == membership.CAPACITY
    assert member(members, number(2)) is None
    members.hear(STORK, "stork", 2, AT, 9001.0)
    assert member(members, number(3)) is not None


def test_a_full_table_forgets_hearsay_first_and_then_who_is_longest_gone() -> None:
    members = table()
    for i in range(1, membership.CAPACITY - 1):
        members.hear(number(i), f"n{i}", 1, AT, 0.0)
    members.leave(number(8), 1, 5.0)
    members.leave(number(7), 1, 4.0)
    members.sight(IBIS, "ibis", 1, AT, "seed", 6.0)
    for name, forgotten in [("a", IBIS), ("b", number(7)), ("c", number(8))]:
        assert isinstance(members.hear(name.encode() * 16, name, 1, AT, 7.0)[0], Joined)
        assert member(members, forgotten) is None
    assert members.hear(b"d" * 16, "d", 1, AT, 7.0) == []
    assert (len(members.alive()), members.no_room) == (membership.CAPACITY, 1)


UUIDS = {name: name.encode() * 16 for name in "abcd"}
HEARD = st.lists(st.tuples(st.sampled_from(sorted(UUIDS)), st.integers(1, 5)), max_size=20)


@given(HEARD, st.randoms(use_true_random=False))
def test_the_order_of_hearing_does_not_change_the_final_boots(
    heard: list[tuple[str, int]], shuffle: Random
) -> None:
    def boots(order: list[tuple[str, int]]) -> dict[str, int]:
        members = table()
        for name, boot in order:
            members.hear(UUIDS[name], name, boot, AT, 0.0)
        return {member.name: member.boot for member in members.all()}

    other = list(heard)
    shuffle.shuffle(other)
    assert boots(heard) == boots(other)
    assert boots(heard) == {"me": 3} | {name: max(b for n, b in heard if n == name) for name, _ in heard}


STEP = st.tuples(
    st.sampled_from(["hear", "sight", "leave", "tick"]),
    st.sampled_from(sorted(UUIDS)),
    st.sampled_from(["x", "y", "z"]),
    st.integers(1, 3),
    st.sampled_from([AT, ELSEWHERE]),
    st.floats(0, 12),
)


@given(st.lists(STEP, max_size=40))
def test_what_is_told_of_each_node_makes_sense_in_its_order(
    story: list[tuple[str, str, str, int, str, float]],
) -> None:
    members = table()
    alive = {ME.uuid}
    now = 0.0
    for what, who, name, boot, address, passed in story:
        now += passed
        events = happen(members, what, UUIDS[who], name, boot, address, now)
        for event in events:
            follow(event, alive)
        assert {member.uuid for member in members.alive()} == alive
        named = [m.name for m in members.all() if m.state is not Presence.SEEN]
        assert len(named) == len(set(named))


def happen(
    members: Membership, what: str, uuid: bytes, name: str, boot: int, address: str, now: float
) -> list[Event]:
    match what:
        case "hear":
            return members.hear(uuid, name, boot, address, now)
        case "sight":
            return members.sight(uuid, name, boot, address, "hello", now)
        case "leave":
            return members.leave(uuid, boot, now)
        case _:
            return members.tick(now)


def follow(event: Event, alive: set[bytes]) -> None:
    match event:
        case Joined(member):
            assert member.uuid not in alive
            alive.add(member.uuid)
        case Dead(member) | Left(member):
            alive.remove(member.uuid)
        case Restarted(member, old_boot):
            assert member.uuid in alive
            assert member.boot > old_boot
        case Moved(member, old_address):
            assert member.uuid in alive
            assert member.address != old_address
        case Sighted(member):
            assert member.uuid not in alive
        case NameClash(holder, newcomer):
            assert holder.uuid in alive
            assert (holder.name, holder.uuid != newcomer.uuid) == (newcomer.name, True)
