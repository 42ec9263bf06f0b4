"""The table of reasons, as docs/why.md has it."""

from mesh.reasons.texts import TEXTS


def table() -> str:
    """All of them, in their order."""
    rows = [f"| `{code}` | {text.rank} | {text.says} | {text.hint} |" for code, text in TEXTS.items()]
    return "\n".join(["| code | rank | says | hint |", "| --- | --- | --- | --- |", *rows])
