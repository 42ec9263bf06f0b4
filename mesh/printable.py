"""Makes texts for the terminal safe and readable. This file imports nothing of the mesh."""

import encodings.unicode_escape  # noqa: F401 - now, while a descriptor is free
import re
import shlex

# Unicode classifies these characters as letters, marks and symbols, so Python calls them printable. They are
# invisible, however, and two keys would look the same. Python calls no other invisible character printable,
# and no character that changes the reading direction.
HIDDEN = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def harmless(text: str) -> str:
    r"""Return the text with escapes such as `\n`, `\x1b` and `\u202e` for unsafe characters.

    Unsafe characters would end the line, reverse the reading direction, or be invisible.
    """
    if text.isprintable() and (text.isascii() or not HIDDEN.search(text)):
        return text
    return "".join(letter if _is_seen(letter) else _escaped(letter) for letter in text)


def _is_seen(letter: str) -> bool:
    return letter == "\t" or (letter.isprintable() and not HIDDEN.match(letter))


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode()


def count(number: int, noun: str) -> str:
    """Return a number with its noun, such as "1 message" or "1,234 messages"."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def typed(text: object) -> str:
    """Return a name or path as the last word of a command line: quoted, and never an option."""
    quoted = shlex.quote(harmless(str(text)))
    return f"-- {quoted}" if quoted.startswith("-") else quoted
