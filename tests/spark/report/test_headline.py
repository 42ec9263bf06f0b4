"""The first figures of a report, for nodes that were not there all the time."""

from dataclasses import replace

from mesh.history.report.facts import MEASURES, Facts, Series
from mesh.history.report.headline import Figure, headline
from mesh.history.report.node_rows import Flapping
from tests.spark.report.invented import empty, facts


def told(of: Facts) -> dict[str, Figure]:
    return {figure.label: figure for figure in headline(of)}


def test_messages_of_nodes_that_were_there_one_after_the_other_are_not_added_up() -> None:
    taken: Series = {"old": (100.0, 100.0, None, None, None), "new": (None, None, None, 100.0, 160.0)}
    series: dict[str, Series] = {measure: {} for measure in MEASURES}
    series |= {"published_per_s": taken, "delivered_per_s": {"old": (2.0,) * 5}}
    figure = told(replace(facts(3), series=series))["Messages a second"]
    assert (figure.value, figure.note) == ("115", "accepted by their masters; 2.00 delivered")


def test_nodes_are_counted_by_how_their_last_life_ended() -> None:
    made = facts(3)
    ends = {"heron": "there", "crane": "stopped", "wren": "stopped"}
    lives = tuple(replace(life, ended=ends[life.node]) for life in made.lives)
    assert told(replace(made, lives=lives))["Nodes"].note == "1 alive at the end, 2 stopped cleanly"
    assert told(empty())["Nodes"].note == "no node was alive"


def test_of_a_time_without_states_nobody_knows_how_many_messages_there_were() -> None:
    assert told(empty())["Messages a second"].value == "-"


def test_deaths_that_were_none_and_deaths_of_which_little_is_known_are_told_apart() -> None:
    made = facts(3)
    death = next(row for row in made.detections if row.how == "dead" and not row.lived_on)
    restless = Flapping(
        node="wren", suspicions=0, refutations=0, deaths=2, restarts=1, seen_hours=1.0, changes_per_hour=3.0
    )
    unknown = replace(death, last_at=None, first_s=None, final_s=None)
    alarm = replace(unknown, lived_on=True)
    notes = {
        (): ("1 restart", "no deaths"),
        (alarm,): ("of which false: 1; 1 restart", "no deaths"),
        (unknown, alarm): ("of which false: 1; 1 restart", "their last states are outside this time"),
    }
    for detections, expected in notes.items():
        figures = told(replace(made, flapping=(restless,), detections=detections))
        assert (figures["Deaths"].note, figures["Deaths noticed after"].note) == expected
        assert figures["Deaths"].value == "2"
