"""Invariant checks: one function for each promise that a history may break."""

from __future__ import annotations

from collections.abc import Callable, Collection

from tools.simulator.checks import (
    abroad,
    addresses,
    agreeing,
    drains,
    grouping,
    groups,
    holders,
    holding,
    honesty,
    integrity,
    members,
    moves,
    order,
    pacing,
    queues,
    relayed,
    resources,
    ruled,
    sites,
    spaces,
    taking,
    transactions,
    transport,
    values,
    visiting,
)
from tools.simulator.checks.durables import with_copies
from tools.simulator.checks.facts import Facts, Violation
from tools.simulator.history import History

Check = Callable[[History, Facts], list[Violation]]

CHECKS: dict[str, Check] = {
    "G1": integrity.delivered_as_published,
    "G1.1": integrity.retracted,
    "G2": taking.no_false_ok,
    "C1.1": integrity.delivered_once,
    "C1.2": order.in_order,
    "C1.3": order.gaps_are_told,
    "C1.4": order.owed_arrives,
    "C1.5": pacing.who_goes_on_misses_nothing,
    "C2.1": taking.taken_by_masters,
    "C2.2": taking.taken_in_order,
    "C2.3": taking.answered,
    "C2.4": taking.last_word,
    "C3.7": taking.stored_once,
    "C5.1": integrity.letters,
    "C6.2": integrity.routes,
    "V1": values.last_values,
    "V2": values.read_alike,
    "V3": values.erased_for_good,
    "M1": members.completeness,
    "M2": members.accuracy,
    "M3": members.incarnations,
    "M4": members.agreement,
    "M5": members.belonging,
    "R1": resources.under_caps,
    "L1": resources.nothing_left,
    "P1": honesty.nobody_stops,
    "SE4": visiting.one_connection,
    "SE5": visiting.not_given_up,
    "SE6": visiting.nothing_held,
    "SE10": drains.ends_or_names,
    "RD1": drains.served_at_the_end,
    "RD2": drains.no_redirect_loops,
    "TP1": transport.none_thrown_out,
    "T1": transactions.all_or_none,
    "T2": transactions.outcome_holds,
    "T3": transactions.settled_once,
    "T4": transactions.stored_in_order,
    "T6": transactions.none_under_way,
    "K1": spaces.linearizable,
    "K2": holders.versions_grow,
    "K3": holders.replaced_once,
    "K4": holders.one_holder,
    "K5": holders.answered,
    "TALLY": holders.tallied,
    "BOUND": holders.bounded,
    "AD1": addresses.given_once,
    "AD2": addresses.answered_is_given,
    "AD3": addresses.nobody_only_if_so,
    "AD4": addresses.known_is_so,
    "AD5": addresses.reaches_whom_it_was_meant_for,
    "AD6": addresses.local_stays_local,
    "AD7": addresses.each_ends_once,
    "AD8": addresses.refused_is_not_given,
    "AD9": addresses.replies_answer,
    "AD10": addresses.in_time_where_all_are_quick,
    "GR1": groups.one_member,
    "GR2": groups.somebody_gets_it,
    "C6.1": relayed.taken_once,
    "C6.3": relayed.is_prompt,
    "S-order": relayed.in_order,
    "S-arrives": relayed.arrives,
    "S-sender": relayed.as_published,
    "S-stamp": relayed.stamped_alike,
    "S-conflict": agreeing.one_value,
    "S-kept": agreeing.lost_are_kept,
    "S-views": sites.views,
    "S-seen": sites.seen,
    "S-asked": abroad.asked,
    "S-letters": abroad.letters,
    "S-leave": abroad.with_leave,
    "Q1": moves.conserved,
    "Q2": queues.none_lost,
    "Q3": holding.one_holder,
    "Q4": queues.acked_is_final,
    "Q5": queues.redelivered_is_said,
    "Q6": queues.in_order,
    "Q7": queues.nothing_stays,
    "Q8": moves.moved_seldom,
    "Q9": queues.sums,
    "Q10": queues.as_it_was_put,
    "Q11": grouping.groups_in_order,
    **ruled.LAWS,
}


SITES = tuple(n for n in CHECKS if n[:2] == "S-" or n in ("C6.1", "C6.3"))  # of several sites together
HOME = tuple(name for name in CHECKS if name not in {*SITES, *ruled.LAWS})  # invariants of each mesh

# Only these apply where masters change: the others assume one master of each domain throughout.
STEADY = ("G1", "G2", "C2.3", "C2.4", "C3.7", "C5.1", "C6.2", "M1", "M2", "M3", "M4", "M5", "R1", "L1", "P1")
RULED = (*STEADY, *ruled.LAWS)


def checked(history: History, facts: Facts) -> list[Violation]:
    """Return all violations of a history.

    If an exception ended the run, only that exception is returned.
    """
    problems = [Violation("crash", e.text, (e,)) for e in history.of("problem")]
    if problems:
        return problems  # the run ended there: absence proves nothing
    if facts.sites:
        alone = [
            violation
            for site in facts.sites
            for violation in broken(sites.within(history, site), site.facts, HOME)
            if not sites.is_anothers(violation, site, history)
        ]
        return [*alone, *broken(history, facts, SITES)]
    return broken(history, facts, RULED if facts.rules == "shared" else HOME)


def broken(history: History, facts: Facts, names: Collection[str]) -> list[Violation]:
    """Return the violations of the invariants `names`.

    After a node has continued with an old store, only the invariants of queues are checked.
    """
    if facts.liar:
        history = honesty.among_the_honest(history, facts)
    went_back = any(history.of("went back"))  # more than queue content is lost then
    kept = with_copies(history, facts)
    return [
        violation
        for name in names
        if name[0] == "Q" or not went_back
        for violation in CHECKS[name](kept if name[0] == "Q" else history, facts)
    ]
