"""The planted mistakes, by name."""

from __future__ import annotations

from tools.models.bits import highest
from tools.models.planting import Mistake
from tools.models.sessions import deliveries, publishing, reparenting
from tools.models.sessions.job import DONE
from tools.models.sessions.product_mistakes import PRODUCT_MISTAKES
from tools.models.sessions.visit_mistakes import VISIT_MISTAKES

DELIVERY_MISTAKES = {
    "attach of HOLD is not compared": Mistake(
        "queue", ((deliveries, "is_outdated", lambda attach, known: False),)
    ),
    "claim is not repeated": Mistake("queue", ((deliveries, "guests_after_crash", lambda guests: guests),)),
    "claims are believed": Mistake("queue", ((deliveries, "grants", lambda part: part.job != DONE),)),
    "ack is answered before the part has it": Mistake(
        "queue", ((deliveries, "answers_early", lambda: True),)
    ),
    "not marked when it is given out": Mistake("queue", ((deliveries, "MARK", False),)),
    "given up without a flag": Mistake(
        "queue", ((deliveries, "flag_after_grace", lambda was_redelivered: was_redelivered),)
    ),
}
ROUTE_MISTAKES = {
    "route changed without RESUME": Mistake("route", ((reparenting, "resumes_at_change", lambda: False),)),
    "slave resumes from what it received": Mistake(
        "route", ((reparenting, "slave_position", lambda received, unacknowledged: received),)
    ),
}


def accepted_again(arrived: tuple[int, ...], number: int) -> tuple[int, ...]:
    """Return what a master has that compares a number with the last one only."""
    return arrived if arrived[-1] == number else (*arrived, number)


PUBLISH_MISTAKES = {
    "what was warned is not sent again": Mistake(
        "publish",
        ((publishing, "unanswered", lambda all_, sent, final, warned: all_ & ~sent & ~final & ~warned),),
    ),
    "numbers are not compared": Mistake("publish", ((publishing, "after_repeat", accepted_again),)),
    "stored out of order": Mistake("publish", ((publishing, "next_to_store", highest),)),
    "late messages are not flagged": Mistake(
        "publish without a rule", ((publishing, "is_flagged", lambda number, arrived: False),)
    ),
}
MISTAKES = VISIT_MISTAKES | DELIVERY_MISTAKES | ROUTE_MISTAKES | PUBLISH_MISTAKES | PRODUCT_MISTAKES
