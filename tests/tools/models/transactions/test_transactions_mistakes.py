"""Each planted mistake is found, by the invariant and after the states of this table."""

import pytest

from tools.models.transactions.scenarios import MISTAKES, TRANSACTIONS

FOUND = {
    "ack in a second commit": ("T1", 555),
    "done row in a second commit": ("T1", 512),
    "ack counted in memory before the commit": ("T2", 225),
    "acks ride along with later jobs": ("T1", 227),
    "row of an envelope written without the ack under way": ("T1", 227),
    "a refusal is not recorded": ("T2", 848),
    "a resend leaves the transaction": ("T1", 30),
    "delivery not checked": ("T3", 53),
    "lease runs on during the commit": ("T3", 103),
    "asked outcome is not recorded": ("T2", 529),
    "parts visible one by one": ("T1", 965),
    "own parts visible at the decision": ("T1", 378),
    "inbox row in a transaction after": ("DB1", 1037),
    "ack before the commit": ("DB1", 41),
    "inbox looked up without a row": ("DB1", 1146),
    "outbox rows beside the transaction": ("DB1", 124),
    "sender deletes before the answer": ("DB2", 54),
    "row deleted when it only waits": ("DB2", 147),
    "a refused row is deleted": ("DB2", 148),
    "grant before the commit": ("K2", 1224),
    "hand-over before its commit": ("K2", 830),
    "forced move keeps the versions": ("K3", 299),
}
FOUND_SLOWLY = {
    "outcome forgotten, and no low kept": ("T4", 1535),
    "stream does not wait for the branch": ("T4", 7562),
    "decision before prepare": ("T1", 2172),
    "position given at prepare": ("T4", 13_515),
    "decision row removed before the others have finished": ("T1", 25_708),
    "decided branch dropped at start": ("T1", 31_854),
    "prepared branch dropped at start": ("T5", 31_941),
    "lease runs on while the branch is prepared": ("T5", 2142),
    "prepared messages numbered by the client": ("T1", 30_881),
    "inbox row in a transaction before": ("DB1", 1772),
    "inbox keyed by the delivery": ("DB1", 1678),
    "inbox rows deleted by age alone": ("DB1", 2219),
    "a delivery is begun after days": ("DB1", 1907),
    "the number is the row's id": ("P1", 4056),
    "numbers in the sender's memory": ("DB2", 6499),
    "senders share the rows of a stream": ("DB2", 1555),
    "a new stream for each sender": ("DB2", 5749),
    "numbers from a counter alone": ("DB2", 7121),
    "a running sender does not notice a restore": ("DB2", 7248),
    "a sender numbers after its lease": ("DB2", 114_929),
    "token from memory": ("K2", 2001),
    "old leases over at a restart": ("K4", 3241),
    "lease on the wall clock": ("K4", 2042),
    "lease counted from the answer": ("K4", 1629),
    "generation not raised": ("K2", 1556),
    "leash not checked": ("K2", 14_696),
    "leash counted from the reply": ("K2", 98_423),
    "voter votes while the home lives": ("K2", 186_843),
    "new home grants at once": ("K4", 78_536),
    "restarted voter votes at once": ("K2", 157_625),
    "promise not kept over a restart": ("K2", 164_107),
}


def found(mistake: str) -> tuple[str, int]:
    outcome = TRANSACTIONS.search(MISTAKES[mistake].scenario, mistake)
    assert outcome.violation is not None
    return outcome.violation.invariant, outcome.states


@pytest.mark.parametrize("mistake", FOUND)
def test_a_planted_mistake_is_found(mistake: str) -> None:
    assert found(mistake) == FOUND[mistake]


@pytest.mark.slow
@pytest.mark.parametrize("mistake", FOUND_SLOWLY)
def test_a_planted_mistake_is_found_after_thousands_of_states(mistake: str) -> None:
    assert found(mistake) == FOUND_SLOWLY[mistake]


def test_each_mistake_is_in_a_table_and_each_invariant_but_one_is_violated_by_one() -> None:
    table = FOUND | FOUND_SLOWLY
    assert len(table) == 53
    assert set(table) == set(MISTAKES)
    invariants = {"T1", "T2", "T3", "T4", "T5", "DB1", "DB2", "K2", "K3", "K4", "P1"}
    assert {invariant for invariant, _ in table.values()} == invariants
