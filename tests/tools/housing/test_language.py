"""Docstrings that are marked, and the number of them, which only falls."""

import pytest

from tools.housing.language import Docstring, figures

# Lower these numbers when you rewrite docstrings; never raise them.
MARKED = 0
MARKED_WIDELY = 162


def docstring(text: str) -> Docstring:
    return Docstring("mesh/client/shell.py", 1, text)


@pytest.mark.parametrize(
    "text",
    [
        "It, as it waits.",
        "Who waits.",
        "What came.",
        "Tell somebody.",
        "Drop what came back.",
        "`x`: whose he is.",
    ],
)
def test_a_docstring_without_a_subject_or_with_a_person_is_marked(text: str) -> None:
    assert docstring(text.replace("whose he", "where he")).is_marked


@pytest.mark.parametrize(
    "text",
    [
        "Return the envelope.",
        "Drop a client that waits.",
        "The node that knows what to send.",
        "The whole file.",
    ],
)
def test_a_plain_docstring_is_not_marked(text: str) -> None:
    assert not docstring(text).is_marked_widely


@pytest.mark.parametrize(
    "text", ["Those of a queue.", "Of a queue.", "Another one.", "The parcel.", "Bury it."]
)
def test_other_headless_openings_and_home_made_words_count_widely(text: str) -> None:
    assert docstring(text).is_marked_widely


def test_the_package_is_the_folder_of_two_levels() -> None:
    assert Docstring("mesh/client/core/node_connection.py", 1, "x").package == "mesh/client"
    assert Docstring("mesh/errors.py", 1, "x").package == "mesh"


@pytest.mark.slow  # for its length
def test_marked_docstrings_do_not_grow_in_number() -> None:
    counts = figures()
    assert counts["marked docstrings"] <= MARKED
    assert counts["marked docstrings, wider count"] <= MARKED_WIDELY
