"""Searches the models of moving sessions for violations, and for planted mistakes."""

from tools.models.command import command
from tools.models.sessions.scenarios import SESSIONS

main = command(
    SESSIONS,
    """Visit all states of the models of moving sessions, and check every invariant.

    NAME is a scenario, such as "one master". MISTAKE is planted into it, and the shortest trace to the
    violation is printed. Exit code 1: an invariant is violated, a search reached its bound, or a planted
    mistake was not found.
    """,
)

if __name__ == "__main__":
    main()
