"""Safe display of texts from other nodes and programs."""

import re

# Invisible characters, as in mesh/printable.py, which a job without the mesh cannot import.
HIDDEN = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def visible(text: str) -> str:
    """Return the text on one line, with invisible characters and changes of direction escaped."""
    if text.isprintable() and not HIDDEN.search(text):
        return text
    return "".join(letter if _is_seen(letter) else _escaped(letter) for letter in text)


def _is_seen(letter: str) -> bool:
    return letter.isprintable() and not HIDDEN.match(letter)


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode()
