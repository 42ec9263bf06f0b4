"""Values and texts that are shortened for errors. This file imports nothing."""

LONGEST_WORD, LONGEST_TEXT = 600, 6000  # characters of an error's text


def shown(value: object) -> str:
    """Return `repr(value)`, shortened for an error text; the type's name if `repr` fails."""
    try:
        text = repr(value)
    except Exception:
        text = f"a {type(value).__name__}"
    return text if len(text) <= 40 else f"{text[:40]}..."


def shortened(text: str) -> str:
    """Return a text for display, with long words and the whole text shortened."""
    if len(text) > LONGEST_WORD:
        words = (_ends(word, LONGEST_WORD) for word in text.split(" "))
        text = _ends(" ".join(words), LONGEST_TEXT)
    return text


def _ends(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}...({len(text) - most:,} more)...{text[-(most // 2) :]}"
