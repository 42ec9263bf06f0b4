"""The language of the pages, measured. The limits only fall, except for the pages of new capabilities."""

from tools.housing.pages import figures, sentences

# 50,000 words, and 3,200 for maps, counters, locks and elections, tallies, transactions with databases, and
# sessions and parents that move.
WORDS, MEDIAN, LONG, PERSONS = 53_200, 9, 19, 2


def test_a_list_item_and_a_paragraph_end_a_sentence() -> None:
    page = (
        "# T\n\nOne. **Two** is here. Three\n\n- a list\n  item\n- another one. And more\n\n| a |\n\n    c\n"
    )
    assert list(sentences(page)) == [
        "One.",
        "**Two** is here.",
        "Three",
        "a list item",
        "another one.",
        "And more",
    ]


def test_code_and_tables_do_not_count() -> None:
    assert list(sentences("```console\n$ mesh up\n```\n\n| a | b |\n| --- | --- |\n")) == []


def test_pages_do_not_become_longer_or_harder_to_read() -> None:
    found = figures()
    assert found["words of prose in pages"] <= WORDS
    assert found["words of a sentence in pages, median"] <= MEDIAN
    assert found["words of a sentence in pages, 90 %"] <= LONG
    assert found["somebody, nobody, whoever, whom in pages"] <= PERSONS
