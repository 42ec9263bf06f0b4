from dataclasses import replace

import pytest

from mesh.discovery.member import (
    LEAP,
    Dead,
    Joined,
    Left,
    Member,
    Moved,
    NodeLife,
    Restarted,
    Rumour,
    Sighted,
)
from mesh.discovery.membership import HEARSAY, DirectProbe, Inform, NameClash
from mesh.discovery.rumor_evidence import HIGHEST
from mesh.discovery.table import SEEN_FOR, TOLD
from tests.discovery.nodes import (
    AT,
    ELSEWHERE,
    HERON,
    IBIS,
    ME,
    STORK,
    accusations,
    crowd,
    heron,
    kinds,
    membership,
    node,
    rumour,
    state,
    until,
    until_probe,
    uuid,
)

ALIVE, SUSPECT, DEAD, LEFT, SEEN = (
    NodeLife.ALIVE,
    NodeLife.SUSPECT,
    NodeLife.DEAD,
    NodeLife.LEFT,
    NodeLife.SEEN,
)
N1 = uuid("n1")


# --- others --------------------------------------------------------------------------------------------


def test_among_few_the_word_of_others_makes_a_node_seen_and_no_more() -> None:
    members = membership("ibis")
    [sighted] = members.rumoured(IBIS, (rumour(ALIVE),), 1.0)
    assert sighted == Sighted(Member(node("heron"), "gossip", SEEN, 1.0, since=1.0))
    assert members.rumoured(IBIS, (rumour(ALIVE), rumour(SUSPECT)), 2.0) == []
    assert state(members, "heron") is SEEN


def test_among_many_the_word_of_others_makes_a_node_alive() -> None:
    members = crowd()
    assert members.count == HEARSAY + 1
    [joined] = members.rumoured(N1, (rumour(ALIVE),), 1.0)
    assert joined == Joined(Member(node("heron"), "gossip", ALIVE, 1.0, since=1.0))
    assert kinds(members.rumoured(N1, (rumour(SUSPECT, "ibis"),), 1.0)) == ["Joined", "Suspected"]
    until_probe(members, "heron")


def test_who_asked_for_all_believes_the_answer_though_it_knew_few_and_does_not_spread_it() -> None:
    members, told = membership("ibis"), tuple(rumour(ALIVE, f"n{i}") for i in range(HEARSAY + 1))
    assert set(kinds(members.rumoured(IBIS, told, 1.0, is_answer=True))) == {"Joined"}
    assert members.count == HEARSAY + 3
    probes = [ask for _, ask in until(members, 3.0) if isinstance(ask, DirectProbe)]
    assert {r.node.uuid for probe in probes for r in probe.rumours} <= {IBIS}


def test_who_was_told_of_one_before_it_asked_for_all_believes_it_then() -> None:
    members, told = membership("ibis"), tuple(rumour(ALIVE, f"n{i}") for i in range(HEARSAY + 1))
    members.rumoured(IBIS, told[:9], 1.0)
    assert kinds(members.rumoured(IBIS, told, 1.0, is_answer=True)) == ["Joined"] * len(told)


def test_who_did_not_ask_believes_nobody_alive_however_many_it_is_told() -> None:
    members, told = membership("ibis"), tuple(rumour(ALIVE, f"n{i}") for i in range(HEARSAY + 1))
    assert set(kinds(members.rumoured(IBIS, told, 1.0))) == {"Sighted"}
    assert members.count == 2


def test_among_many_one_that_was_only_seen_is_alive_when_others_say_so() -> None:
    members = crowd()
    members.sight(node("heron"), "mdns", 0.0)
    assert kinds(members.rumoured(N1, (rumour(ALIVE),), 1.0)) == ["Joined"]
    assert heron(members).via == "mdns"


def test_a_rumour_of_a_death_is_believed_and_spread() -> None:
    members = membership("heron", "ibis", "stork")
    [dead] = members.rumoured(IBIS, (rumour(DEAD),), 9.0)
    assert isinstance(dead, Dead)
    _, probe = until_probe(members, "stork")
    assert probe.rumours[0] == rumour(DEAD)


def test_a_rumour_of_a_goodbye_is_believed_and_spread() -> None:
    members = membership("heron", "ibis", "stork")
    [left] = members.rumoured(IBIS, (rumour(LEFT),), 9.0)
    assert isinstance(left, Left)
    _, probe = until_probe(members, "stork")
    assert (probe.rumours[0].node.uuid, probe.rumours[0].state) == (HERON, LEFT)


def test_old_rumours_do_not_raise_the_dead_and_a_denial_or_a_new_boot_does() -> None:
    members = crowd()
    members.on_introduction(node("heron"), 0.0)
    members.rumoured(N1, (rumour(DEAD, incarnation=4),), 9.0)
    for old in (rumour(ALIVE, incarnation=4), rumour(SUSPECT, incarnation=4), rumour(ALIVE, boot=0)):
        assert members.rumoured(N1, (old,), 10.0) == []
    assert state(members, "heron") is DEAD
    assert kinds(members.rumoured(N1, (rumour(ALIVE, incarnation=5),), 11.0)) == ["Joined"]
    assert heron(members).incarnation == 5
    members.rumoured(N1, (rumour(DEAD, incarnation=5),), 12.0)
    assert kinds(members.rumoured(N1, (rumour(ALIVE, boot=2),), 13.0)) == ["Joined"]
    assert (heron(members).boot, heron(members).incarnation) == (2, 0)


def test_trial_A2_a_goodbye_that_another_tells_of_shuts_nobody_out() -> None:
    """A false LEFT about a node does not exclude it.

    An observer that has just received a message from the node lets it refute the rumor. Other observers
    believe the rumor only until they receive a message from the node, or its refutation.
    """
    members = crowd()
    members.on_introduction(node("heron"), 0.0)
    assert members.rumoured(N1, (rumour(LEFT),), 0.5) == [Inform(HERON, (rumour(LEFT),))]
    assert state(members, "heron") is ALIVE
    assert kinds(members.rumoured(N1, (rumour(LEFT),), 9.0)) == ["Left"]
    assert members.rumoured(N1, (rumour(ALIVE), rumour(DEAD)), 9.0) == [], "no denial, these"
    assert kinds(members.on_introduction(node("heron"), 10.0)) == ["Joined"]
    assert accusations(members) == [Rumour(node("heron"), 0, DEAD)], "which it shall deny to all"
    assert members.rumoured(N1, (rumour(LEFT),), 29.0) == []
    assert kinds(members.rumoured(N1, (rumour(LEFT, incarnation=1),), 30.0)) == ["Left"]
    assert kinds(members.rumoured(N1, (rumour(ALIVE, incarnation=2),), 31.0)) == ["Joined"]
    [told] = members.rumoured(HERON, (rumour(LEFT, "me", 3),), 51.0)
    assert told == Inform(HERON, (Rumour(ME, 1, ALIVE),)), "and so do we"


def test_trial_A2_a_boot_far_above_the_last_is_nobodys_word_of_another() -> None:
    members = crowd()
    members.on_introduction(node("heron"), 0.0)
    for state_ in (ALIVE, SUSPECT, DEAD, LEFT):
        assert members.rumoured(N1, (rumour(state_, boot=2 + LEAP),), 9.0) == []
    members.sight(node("heron", 2 + LEAP), "gossip", 9.0)
    assert heron(members).boot == 1
    assert kinds(members.rumoured(N1, (rumour(ALIVE, boot=1 + LEAP),), 9.0)) == ["Restarted"]


@pytest.mark.parametrize("end", [DEAD, LEFT])
def test_M3_who_speaks_in_a_boot_of_which_others_told_the_end_and_the_next_is_as_far_as_it_was(
    end: NodeLife,
) -> None:
    members = membership("heron", "ibis")
    members.rumoured(IBIS, (rumour(ALIVE, incarnation=3), rumour(end, incarnation=3)), 9.0)
    members.rumoured(IBIS, (rumour(ALIVE, boot=2), rumour(ALIVE, boot=3, incarnation=7)), 10.0)
    assert (state(members, "heron"), heron(members).boot) == (SEEN, 2)
    (joined,) = members.on_introduction(node("heron"), 11.0)
    assert isinstance(joined, Joined)
    assert (joined.member.boot, joined.member.incarnation) == (1, 3)
    assert accusations(members) == [Rumour(node("heron"), 3, DEAD)], "which it shall deny to all"
    assert members.rumoured(IBIS, (rumour(DEAD, incarnation=3), rumour(SUSPECT, incarnation=3)), 29.0) == []
    assert kinds(members.rumoured(IBIS, (rumour(SUSPECT, incarnation=4),), 29.0)) == ["Suspected"]


def test_M3_who_speaks_in_a_boot_that_many_take_for_over_has_denied_what_it_had() -> None:
    members = crowd("heron")
    members.rumoured(N1, (rumour(ALIVE, incarnation=3),), 9.0)
    assert kinds(members.rumoured(N1, (rumour(ALIVE, boot=2),), 9.0)) == ["Restarted"]
    assert kinds(members.on_introduction(node("heron"), 10.0)) == ["Restarted"]
    assert (heron(members).boot, heron(members).incarnation) == (1, 3)
    assert members.rumoured(N1, (rumour(SUSPECT, incarnation=2),), 29.0) == []


def test_a_goodbye_is_the_last_word_of_a_boot() -> None:
    members = crowd()
    members.on_introduction(node("heron"), 0.0)
    members.rumoured(HERON, (rumour(LEFT),), 9.0)
    assert members.rumoured(N1, (rumour(ALIVE, incarnation=9), rumour(DEAD, incarnation=9)), 10.0) == []
    assert state(members, "heron") is LEFT
    assert kinds(members.rumoured(N1, (rumour(ALIVE, boot=2),), 11.0)) == ["Joined"]


def test_among_few_a_dead_node_that_denies_it_is_worth_dialling() -> None:
    members = membership("heron", "ibis")
    members.rumoured(IBIS, (rumour(DEAD),), 9.0)
    [sighted] = members.rumoured(IBIS, (rumour(ALIVE, incarnation=1),), 10.0)
    assert isinstance(sighted, Sighted)
    assert sighted.member.state is SEEN
    assert kinds(members.on_introduction(node("heron"), 11.0)) == ["Joined"]
    assert heron(members).incarnation == 1


def test_a_denial_ends_a_suspicion() -> None:
    members = membership("heron", "ibis", "stork")
    assert kinds(members.rumoured(IBIS, (rumour(SUSPECT),), 9.0)) == ["Suspected"]
    assert members.rumoured(IBIS, (rumour(ALIVE),), 9.1) == []
    assert kinds(members.rumoured(IBIS, (rumour(ALIVE, incarnation=1),), 9.2)) == ["SuspicionRefuted"]
    assert members.rumoured(STORK, (rumour(SUSPECT),), 9.3) == []
    assert kinds(members.rumoured(STORK, (rumour(SUSPECT, incarnation=1),), 9.4)) == ["Suspected"]


def test_who_denied_one_suspicion_and_is_accused_again_is_trusted_and_suspected() -> None:
    members = membership("heron", "ibis", "stork")
    members.rumoured(IBIS, (rumour(SUSPECT),), 9.0)
    results = members.rumoured(IBIS, (rumour(SUSPECT, incarnation=1),), 9.4)
    assert kinds(results) == ["SuspicionRefuted", "Suspected"]


def test_what_a_node_said_just_now_counts_for_more_than_a_suspicion_and_it_is_told() -> None:
    members = membership("heron", "ibis", "stork")
    members.on_message(HERON, 9.0)
    assert members.rumoured(IBIS, (rumour(SUSPECT),), 9.5) == [Inform(HERON, (rumour(SUSPECT),))]
    assert members.rumoured(IBIS, (rumour(SUSPECT),), 9.6) == []
    assert state(members, "heron") is ALIVE


def test_who_spoke_just_now_is_not_dead_because_somebody_has_old_news_but_later_it_may_be() -> None:
    members = membership("heron", "ibis", "stork")
    members.on_message(HERON, 9.0)
    assert members.rumoured(IBIS, (rumour(DEAD),), 9.5) == [Inform(HERON, (rumour(DEAD),))]
    assert state(members, "heron") is ALIVE
    assert kinds(members.rumoured(IBIS, (rumour(DEAD),), 10.5)) == ["Dead"]


def test_a_suspicion_that_its_subject_has_refuted_to_us_does_not_return() -> None:
    members = membership("heron", "ibis", "stork")
    members.rumoured(IBIS, (rumour(SUSPECT),), 9.0)
    members.on_message(HERON, 9.1)
    assert members.rumoured(STORK, (rumour(SUSPECT, by="stork"),), 20.0) == []
    assert state(members, "heron") is ALIVE


def test_a_death_that_its_subject_has_disproved_to_us_does_not_return() -> None:
    members = membership("heron", "ibis", "stork")
    members.rumoured(IBIS, (rumour(DEAD),), 9.0)
    members.on_introduction(node("heron"), 10.0)
    assert members.rumoured(STORK, (rumour(DEAD), rumour(SUSPECT)), 20.0) == []
    assert kinds(members.rumoured(STORK, (rumour(DEAD, incarnation=1),), 21.0)) == ["Dead"]


def test_who_moved_is_followed_by_rumours() -> None:
    members = membership("heron", "ibis")
    [moved] = members.rumoured(IBIS, (rumour(ALIVE, incarnation=1, at=ELSEWHERE),), 9.0)
    assert isinstance(moved, Moved)
    assert (moved.old_address, moved.member.address) == (AT, ELSEWHERE)


def test_an_accuser_that_does_not_know_yet_where_a_node_is_moves_it_nowhere() -> None:
    members = membership("heron", "ibis", "stork")
    members.on_introduction(node("heron", address=ELSEWHERE), 1.0)
    assert kinds(members.rumoured(IBIS, (rumour(SUSPECT),), 9.0)) == ["Suspected"]
    assert kinds(members.rumoured(IBIS, (rumour(DEAD),), 9.1)) == ["Dead"]
    assert heron(members).address == ELSEWHERE


def test_a_new_boot_of_an_alive_node_is_believed_among_many_and_left_to_itself_among_few() -> None:
    members = membership("heron", "ibis")
    assert members.rumoured(IBIS, (rumour(ALIVE, boot=2),), 9.0) == []
    assert kinds(members.on_introduction(node("heron", 2), 9.1)) == ["Restarted"]
    many = crowd()
    many.on_introduction(node("heron"), 0.0)
    [restarted] = many.rumoured(N1, (rumour(ALIVE, boot=2, at=ELSEWHERE),), 9.0)
    assert isinstance(restarted, Restarted)
    assert (restarted.old_boot, restarted.member.boot, restarted.member.address) == (1, 2, ELSEWHERE)


def test_a_made_up_boot_among_many_does_not_shut_out_the_true_node() -> None:
    members = crowd()
    members.on_introduction(node("heron"), 0.0)
    members.rumoured(N1, (rumour(ALIVE, boot=LEAP),), 9.0)
    assert kinds(members.on_introduction(node("heron"), 10.0)) == ["Restarted"]
    assert heron(members).boot == 1
    assert kinds(members.rumoured(N1, (rumour(DEAD),), 11.0)) == ["Dead"]


def test_a_name_that_is_taken_is_not_given_away_by_rumours() -> None:
    members = crowd()
    thief = Rumour(replace(node("n0"), uuid=HERON), 0, ALIVE)
    assert members.rumoured(N1, (thief,), 1.0) == []
    assert state(members, "heron") is SEEN
    assert isinstance(members.on_introduction(thief.node, 2.0)[0], NameClash)


def test_rumours_change_neither_the_key_nor_the_name_of_a_process() -> None:
    members = membership("ibis")
    members.on_introduction(replace(node("heron"), key=b"true"), 0.0)
    forged = Rumour(replace(node("heron"), name="egret", key=b"false"), 1, ALIVE)
    members.rumoured(IBIS, (forged,), 1.0)
    assert (heron(members).incarnation, heron(members).node.key, heron(members).name) == (1, b"true", "heron")


def test_a_death_of_the_boot_before_does_not_kill_the_one_that_was_seen() -> None:
    members = membership("ibis")
    members.sight(node("heron", 2), "mdns", 0.0)
    assert members.rumoured(IBIS, (rumour(DEAD),), 1.0) == []
    assert state(members, "heron") is SEEN
    members.rumoured(IBIS, (rumour(DEAD, boot=2),), 1.0)
    assert state(members, "heron") is DEAD


@pytest.mark.parametrize("nonsense", [SEEN, NodeLife.CONFLICT])
def test_rumours_that_nobody_spreads_are_dropped(nonsense: NodeLife) -> None:
    members = membership("heron", "ibis")
    assert members.rumoured(IBIS, (rumour(nonsense, incarnation=5),), 1.0) == []
    assert members.rumoured(IBIS, (rumour(ALIVE, incarnation=HIGHEST + 1),), 1.0) == []
    assert heron(members).incarnation == 0


def test_what_a_newcomer_among_many_is_told_makes_everybody_alive_for_it() -> None:
    old, newcomer = crowd(), crowd(seed=1)
    old.on_introduction(node("heron"), 0.0)
    old.on_introduction(node("ibis"), 0.0)
    old.rumoured(N1, (rumour(SUSPECT, "ibis"),), 9.0)
    old.rumoured(N1, (rumour(DEAD, "stork"),), 9.0)
    newcomer.rumoured(N1, old.known(), 10.0)
    assert (state(newcomer, "heron"), state(newcomer, "ibis"), state(newcomer, "stork")) == (
        ALIVE,
        SUSPECT,
        None,
    )


# --- nodes that invent others ------------------------------------------------------------------------


def invented(count: int, first: int = 0, state: NodeLife = ALIVE) -> tuple[Rumour, ...]:
    return tuple(rumour(state, f"made-up-{n}") for n in range(first, first + count))


@pytest.mark.parametrize("of", [ALIVE, SUSPECT, DEAD, LEFT])
def test_trial_A6_one_node_tells_of_so_many_whom_nobody_has_heard_and_no_more(of: NodeLife) -> None:
    members = membership("ibis", "heron")
    members.rumoured(IBIS, invented(TOLD + 50, state=of), 1.0)
    known = len(members.all())
    assert (known, members.no_room) == (3 + TOLD, 50)
    members.rumoured(IBIS, invented(10, 5000, of), 2.0)
    assert len(members.all()) == known
    assert len(kinds(members.rumoured(HERON, (rumour(ALIVE, "stork"),), 2.0))) == 1, "another may"
    for n in range(3000, 3010):
        members.sight(node(f"made-up-{n}"), "gossip", 2.0, IBIS)
    assert len(members.all()) == known + 1
    assert kinds(members.sight(node("found"), "mdns", 2.0)) == ["Sighted"]


def test_trial_A6_who_turns_out_to_live_or_is_forgotten_makes_room_for_more() -> None:
    members = membership("ibis")
    members.rumoured(IBIS, invented(TOLD), 1.0)
    members.on_introduction(node("made-up-7"), 2.0)
    members.rumoured(IBIS, invented(2, 5000), 3.0)
    assert members.no_room == 1
    until(members, 3.0 + SEEN_FOR + 20)
    assert len(members.all()) < 10
    members.rumoured(IBIS, invented(TOLD, 9000), 4.0 + SEEN_FOR + 20)
    assert members.no_room == 1
