"""The model of deliveries, within small bounds."""

from tests.tools.models.walk import after
from tools.models.search import Bounds, explore
from tools.models.sessions.deliveries import DeliveryModel
from tools.models.sessions.job import DONE, LEASE_OVER, READY


def test_no_state_with_two_moves_and_a_crash_violates_an_invariant() -> None:
    outcome = explore(DeliveryModel(visits=3, crashes=1, cuts=0), Bounds(every=5))
    assert outcome.violation is None
    assert (outcome.states, outcome.steps, outcome.at_rest) == (1605, 4209, 321)


def test_a_guest_claims_what_the_client_had_at_the_part() -> None:
    model = DeliveryModel()
    steps = ("0 delivers to the client", "client visits 1", "1 claims the job", "client acks", "1 settles")
    state = after(model, *steps)
    assert state.part.job == DONE
    assert model.violation(state) is None


def test_a_claim_after_the_grace_period_is_refused() -> None:
    steps = ("0 delivers to the client", "client visits 1", "the grace period ends", "1 claims the job")
    state = after(DeliveryModel(), *steps)
    assert state.client.has == LEASE_OVER
    assert (state.part.job, state.part.is_redelivered) == (READY, True)
