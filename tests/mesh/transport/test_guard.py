"""The guard of connections: its limits on unfinished messages, silence and numbers, from figures only."""

from mesh.config import Limits
from mesh.transport.guard import FAREWELL, HELLO_WITHIN, Allowance, Guard
from mesh.transport.unfinished import (
    A_SECOND,
    ALL,
    CLIENT,
    MESSAGE,
    NODE,
    NOISE,
    PUB,
    STRANGER,
    SUBSCRIBING,
    TOGETHER,
    UNPROVEN,
)
from mesh.transport.watch import SOON
from mesh.wire.limits import KIB, MIB
from tests.pages import ROOT

HERE, THERE = "127.0.0.1", "10.0.0.5"
CLIENTS = MIB * 11 // 10 + MIB  # bytes that a client may hold, with the usual max_content


def come(guard: Guard, number: int, now: float = 0.0, role: str = STRANGER, address: str = HERE) -> list[int]:
    """Add a connection, and return the numbers of the connections that are ended for it."""
    endings = guard.add_guest(number, (address, number), address, now, role)
    for ending in endings:
        assert ending.peer[1] == ending.number
        guard.ending(ending.number)
    return [ending.number for ending in endings]


def proven(guard: Guard, number: int, role: str, user: str = "") -> list[int]:
    come(guard, number)
    return [ending.number for ending in guard.proven(number, role, user)]


def over(
    guard: Guard, received: dict[int, int | None], now: float = 0.0, heard: tuple[int, ...] = ()
) -> list[int]:
    endings, _ = guard.check_connections(received, heard, now)
    return [ending.number for ending in endings]


def test_trial_A3_each_role_may_hold_so_much_of_a_message_without_an_end() -> None:
    guard = Guard(Allowance())
    come(guard, 1)
    proven(guard, 2, CLIENT)
    proven(guard, 3, NODE)
    come(guard, 4, role=PUB)
    limits = {1: UNPROVEN, 2: CLIENTS, 3: MESSAGE, 4: SUBSCRIBING}
    assert over(guard, dict(limits)) == []
    for number, limit in limits.items():
        assert over(guard, {number: limit + 1}) == [number]


def test_trial_A3_what_came_before_a_whole_message_is_not_held() -> None:
    guard = Guard(Allowance())
    proven(guard, 1, CLIENT)
    for round in range(1, 50):
        assert over(guard, {1: round * CLIENTS}, heard=(1,)) == []
    assert over(guard, {1: 49 * CLIENTS + CLIENTS}) == []
    assert over(guard, {1: 49 * CLIENTS + CLIENTS + 1}) == [1]


def test_trial_A3_who_turns_out_to_have_ended_his_message_stays() -> None:
    """A late loop reads the waiting messages, and then passes the same figures again."""
    guard = Guard(Allowance())
    proven(guard, 1, CLIENT)
    figures: dict[int, int | None] = {1: 5 * CLIENTS}
    assert over(guard, figures) == [1]
    assert over(guard, figures, heard=(1,)) == []
    assert over(guard, figures) == []


def test_trial_A3_signs_of_life_for_weeks_end_no_idle_connection() -> None:
    weeks = 60 * 86_400.0
    guard = Guard(Allowance())
    proven(guard, 1, NODE)
    come(guard, 2, role=PUB)
    beats = int(34 * weeks / 2)  # bytes of earlier releases' heartbeats, every 2 s
    assert beats > SUBSCRIBING
    assert over(guard, {1: min(beats, MESSAGE), 2: beats}, now=weeks) == []


def test_trial_A3_a_pub_hears_no_message_that_would_excuse_what_it_holds() -> None:
    guard = Guard(Allowance())
    come(guard, 1, role=PUB)
    seconds = 10.0
    limit = SUBSCRIBING + int(A_SECOND * seconds)
    assert over(guard, {1: limit}, now=seconds, heard=(1,)) == []
    assert over(guard, {1: limit + 1}, now=seconds, heard=(1,)) == [1]


def test_trial_A3_all_of_one_key_have_one_room_together_and_the_largest_goes_first() -> None:
    guard = Guard(Allowance(max_content=64 * MIB))
    for number in (1, 2, 3):
        proven(guard, number, CLIENT, "key")
    proven(guard, 4, CLIENT, "another")
    limit = 64 * MIB * 11 // 10 + MIB
    assert over(guard, {1: limit, 4: limit}) == [], "one alone may hold what its role allows"
    assert over(guard, {2: NOISE + 1}) == [1], "together they may not"
    guard.ending(1)
    assert over(guard, {2: TOGETHER // 2, 3: TOGETHER // 2, 4: limit}) == []


def test_clients_with_many_keys_or_with_none_have_one_room_together_that_nodes_do_not_share() -> None:
    guard = Guard(Allowance())
    fits = ALL // CLIENTS
    for number in range(fits + 2):
        proven(guard, number, CLIENT, user=f"fresh key {number}" if number % 2 else "")
    for number in range(1000, 1005):
        proven(guard, number, NODE, user=f"node {number}")
    nodes: dict[int, int | None] = dict.fromkeys(range(1000, 1005), MESSAGE)
    held: dict[int, int | None] = {number: CLIENTS - number for number in range(fits)}
    assert over(guard, held | nodes) == []
    endings, _ = guard.check_connections({fits: CLIENTS, fits + 1: 64 * KIB}, (), 0.0)
    assert [(ending.number, ending.why) for ending in endings] == [
        (fits, "more than 256 MiB of incomplete messages from all clients")
    ], "the largest goes"
    guard.ending(fits)
    assert over(guard, held | nodes) == [], "and then there is room"


def test_trial_A3_strangers_have_one_room_together() -> None:
    guard = Guard(Allowance(strangers=10_000, connections=10_000))
    many = TOGETHER // UNPROVEN
    for number in range(many + 2):
        come(guard, number)
    assert len(over(guard, dict.fromkeys(range(many + 2), UNPROVEN))) == 2


def test_trial_A3_only_what_grows_by_more_than_signs_of_life_is_looked_at_soon() -> None:
    guard = Guard(Allowance())
    for number in (1, 2):
        proven(guard, number, CLIENT)
    assert guard.check_connections({1: NOISE, 2: NOISE + 1}, (), 0.0)[1] == {2}
    assert guard.check_connections({1: 2 * NOISE, 2: NOISE + 1}, (), 0.0)[1] == set()
    assert guard.check_connections({1: 9 * NOISE}, (1,), 0.0)[1] == set(), "it was heard, so it holds nothing"


def test_trial_A3_who_says_no_hello_goes_unless_it_waits_to_be_heard() -> None:
    guard = Guard(Allowance())
    come(guard, 1, now=5.0)
    come(guard, 2, now=5.0)
    come(guard, 3, now=5.0, role=PUB)
    guard.proven(2, CLIENT, "")
    late = 5.0 + HELLO_WITHIN + 0.1
    unknown: dict[int, int | None] = {1: None, 2: None, 3: None}  # the system reports no bytes
    assert over(guard, unknown, now=5.0 + HELLO_WITHIN) == []
    assert over(guard, unknown, now=late, heard=(1,)) == []
    assert over(guard, unknown, now=late) == [1]


def test_trial_A3_whom_we_hung_up_on_hears_why_and_then_goes_without_a_word_to_anybody() -> None:
    guard = Guard(Allowance())
    proven(guard, 1, CLIENT)
    guard.unwanted(1, 7.0)
    guard.unwanted(1, 7.5)
    guard.unwanted(99, 7.0)
    assert over(guard, {1: 0}, now=7.0 + FAREWELL - 0.1) == []
    (ending,), _ = guard.check_connections({1: 0}, (), 7.0 + FAREWELL)
    assert (ending.number, ending.why) == (1, "")


def test_trial_A3_the_oldest_stranger_makes_room_for_a_newcomer() -> None:
    guard = Guard(Allowance(strangers=3, connections=5))
    assert [come(guard, number) for number in (1, 2, 3)] == [[], [], []]
    guard.proven(2, CLIENT, "")
    assert come(guard, 4) == []
    assert come(guard, 5) == [1]
    guard.forget_guest(1)
    assert come(guard, 6) == [3]
    guard.forget_guest(3)
    for number in (4, 5, 6):
        guard.proven(number, CLIENT, "")
    assert come(guard, 7) == []
    assert come(guard, 8) == [7], "it is full, and one of them has not said HELLO"
    guard.forget_guest(7)
    guard.proven(8, CLIENT, "")
    assert come(guard, 9) == [9], "all others have"


def test_trial_A3_of_one_address_and_of_one_key_come_so_many_but_of_this_machine_as_many_as_want() -> None:
    guard = Guard(Allowance(of_address=2, of_key=2))
    assert [come(guard, number) for number in (1, 2, 3)] == [[], [], []]
    assert [come(guard, number, address=THERE) for number in (11, 12, 13)] == [[], [], [13]]
    guard.forget_guest(13)
    guard.forget_guest(12)
    assert come(guard, 14, address=THERE) == []
    assert [proven(guard, number, CLIENT, "key") for number in (21, 22, 23)] == [[], [], [23]]
    assert proven(guard, 24, CLIENT, "another") == []
    assert [proven(guard, number, CLIENT) for number in (31, 32, 33)] == [[], [], []], "without keys"
    for number in (22, 23):
        guard.forget_guest(number)
    assert proven(guard, 25, CLIENT, "key") == []


def test_trial_A3_nothing_is_kept_of_who_is_gone() -> None:
    guard = Guard(Allowance())
    for number in range(100):
        come(guard, number, address=f"10.0.0.{number}", role=PUB if number % 3 else STRANGER)
        guard.proven(number, CLIENT, f"key {number}")
        over(guard, {number: 2 * NOISE})
    for number in range(100):
        assert guard.forget_guest(number) == f"10.0.0.{number}"
        assert guard.forget_guest(number) == ""
    kept = {**vars(guard), **vars(guard._unfinished), **vars(guard._unread)}
    parts = ("_allowance", "_limits", "_unfinished", "_unread")
    assert [kept.pop(name) for name in parts] and len(kept) == 6
    assert list(kept.values()) == [{}] * len(kept)


def test_trial_A3_a_descriptor_that_is_used_again_is_another_connection() -> None:
    guard = Guard(Allowance())
    proven(guard, 1, NODE)
    assert over(guard, {1: MESSAGE}) == []
    come(guard, 1)
    assert over(guard, {1: UNPROVEN}) == []
    assert over(guard, {1: UNPROVEN + 1}) == [1]


def test_trial_A3_the_words_for_the_events_are_the_same_for_all_of_a_kind() -> None:
    """Equal lines are reported once a minute, so a line must not contain a number."""
    guard = Guard(Allowance())
    whys = set()
    for number in range(10):
        come(guard, number, role=PUB)
        (ending,), _ = guard.check_connections(
            {number: SUBSCRIBING + 10_000 * (number + 1)}, (), 3.0 * number
        )
        whys.add(ending.why)
        guard.ending(number)
    assert len(whys) == 1


def test_the_page_names_the_same_figures() -> None:
    page = (ROOT / "docs/security.md").read_text()
    page = page.partition("## Limits on unread bytes")[2].partition("\n## ")[0]
    for figure in (
        f"before HELLO | {UNPROVEN // KIB} KiB, and all of them together {TOGETHER // MIB} MiB",
        f"a node | {MESSAGE // MIB} MiB",
        f"its PUB | {SUBSCRIBING // KIB} KiB, and {A_SECOND} B for each second",
        f"with one key | {TOGETHER // MIB} MiB",
        f"whatever their keys | {ALL // MIB} MiB",
        f"without a valid HELLO is closed after {HELLO_WITHIN:g} s",
        f"every {1000 * SOON:g} ms",
    ):
        assert figure in page, figure
    settings = (ROOT / "docs/configuration.md").read_text()
    for name, default in (
        ("connections", Allowance().connections),
        ("strangers", Allowance().strangers),
        ("address_connections", Allowance().of_address),
        ("key_connections", Allowance().of_key),
    ):
        assert f"| `limits.{name}` | {default:,} |" in settings
        assert getattr(Limits(), name) == default
