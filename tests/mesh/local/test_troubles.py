"""A problem is reported once when it begins, and once when it is over."""

from mesh.local.troubles import QUIET, Troubles


def test_a_trouble_is_told_once_and_once_that_it_is_over() -> None:
    told: list[tuple[str, str]] = []
    troubles = Troubles(lambda level, text: told.append((level, text)))
    troubles.goes_well("disk", "well", 0.0)
    assert told == []
    for now in (1.0, 2.0, 3.0):
        troubles.happens("disk", f"full at {now:g}", now)
    assert told == [("warning", "full at 1")]
    troubles.goes_well("disk", "well again", 3.0 + QUIET)
    troubles.goes_well("disk", "and again", 4.0 + QUIET)
    assert told[1:] == [("info", "well again")]
    troubles.happens("disk", "full once more", 200.0)
    assert told[2:] == [("warning", "full once more")]


def test_what_comes_and_goes_is_not_over() -> None:
    told: list[str] = []
    troubles = Troubles(lambda _, text: told.append(text))
    for now in range(0, 1000, 20):
        troubles.happens("disk", "full", now)
        troubles.goes_well("disk", "well", now + 10)
    assert told == ["full"]


def test_one_trouble_does_not_hide_another() -> None:
    told: list[str] = []
    troubles = Troubles(lambda _, text: told.append(text))
    troubles.happens("disk", "full", 0.0)
    troubles.happens("marker", "damaged", 0.0)
    troubles.goes_well("marker", "mended", QUIET)
    assert told == ["full", "damaged", "mended"]
