"""The length of error texts."""

import pickle

import pytest

from mesh.errors import BadName, MeshError, RemoteError
from mesh.shortening import LONGEST_TEXT, LONGEST_WORD, shortened


@pytest.mark.parametrize("text", ["", "there is no 'x'", "x" * LONGEST_WORD, "a b " * 500])
def test_what_can_be_read_stays_as_it_is(text: str) -> None:
    assert shortened(text) == text
    assert MeshError(text).what == text


def test_trial_C_of_a_long_word_beginning_and_end_are_shown_and_how_much_is_missing() -> None:
    said = shortened(f"there is no {'x' * 99_997}end'. Try another.")
    assert said.startswith("there is no xxx") and said.endswith("xend'. Try another.")
    assert "x...(99,402 more)...x" in said and len(said) < LONGEST_WORD + 60


def test_of_many_words_no_more_than_a_page_is_shown() -> None:
    assert len(shortened("word " * 100_000)) < LONGEST_TEXT + 60
    assert len(shortened(f"{'y' * 1000} " * 1000)) < LONGEST_TEXT + 60


def test_an_error_is_short_in_all_its_texts_also_when_it_has_travelled() -> None:
    error = BadName(f"{'n' * 100_000} is not a name.", hint=f"mesh up --id {'h' * 100_000}")
    assert len(str(error)) < 3 * LONGEST_WORD and len(error.args[0]) < 2 * LONGEST_WORD
    assert len(str(pickle.loads(pickle.dumps(RemoteError("z" * 100_000))))) < 2 * LONGEST_WORD


def test_a_subclass_has_the_code_of_its_class_statement_or_its_body_or_that_of_its_base() -> None:
    class Late(MeshError, code="LATE"):
        pass

    class Older(MeshError):
        code = "OLDER"

    class Later(Late):
        pass

    assert [kind("x").code for kind in (Late, Older, Later)] == ["LATE", "OLDER", "LATE"]
    assert Late("x", code="OTHER").code == "OTHER" and Late.code == "LATE"
