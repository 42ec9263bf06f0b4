"""Searches the models of transactions and shared data for violations, and for planted mistakes."""

from tools.models.command import command
from tools.models.transactions.scenarios import TRANSACTIONS

main = command(
    TRANSACTIONS,
    """Visit all states of the models of transactions and shared data, and check every invariant.

    NAME is a scenario, such as "one store". MISTAKE is planted into it, and the shortest trace to the
    violation is printed. Exit code 1: an invariant is violated, a search reached its bound, or a planted
    mistake was not found.
    """,
)

if __name__ == "__main__":
    main()
