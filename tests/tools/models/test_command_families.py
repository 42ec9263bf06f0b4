"""The scenarios and mistakes of all families fit together."""

from tests.each import each
from tools.models.command import Family
from tools.models.planting import planted
from tools.models.sessions.scenarios import SESSIONS
from tools.models.transactions.scenarios import TRANSACTIONS

FAMILIES = (SESSIONS, TRANSACTIONS)


@each("family", FAMILIES, lambda family: next(iter(family.scenarios)))
def test_scenarios_make_models_of_their_own(family: Family) -> None:
    for scenario in family.scenarios.values():
        one, other = scenario.make(), scenario.make()
        assert one is not other
        assert one.first == other.first


@each("family", FAMILIES, lambda family: next(iter(family.scenarios)))
def test_a_mistake_replaces_names_that_exist_and_is_gone_afterwards(family: Family) -> None:
    patches = [one for mistake in family.mistakes.values() for one in mistake.patches]
    before = [getattr(owner, name) for owner, name, _ in patches]
    for mistake in family.mistakes.values():
        assert mistake.scenario in family.scenarios
        with planted(mistake):
            assert all(getattr(owner, name) is value for owner, name, value in mistake.patches)
    assert [getattr(owner, name) for owner, name, _ in patches] == before
