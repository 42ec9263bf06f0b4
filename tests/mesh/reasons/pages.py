"""The table of reasons on docs/why.md."""

from mesh.reasons.texts import TEXTS


def table() -> str:
    """Return the table of all reasons, in order."""
    rows = [f"| `{code}` | {text.rank} | {text.says} | {text.hint} |" for code, text in TEXTS.items()]
    return "\n".join(["| code | rank | says | hint |", "| --- | --- | --- | --- |", *rows])
