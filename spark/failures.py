"""What does it mean when Spark gives up? In words that say what to do."""

from spark.errors import SparkJobError

FULL = ("No space left on device", "Disk quota exceeded", "not enough space")
CHECKPOINT = (
    "_checkpoint", "Malformed log", "Incomplete log file", "Failed to read log file", "offset log",
    "STREAM_FAILED.CHECKPOINT",
)  # fmt: skip
DENIED = ("Permission denied", "AccessControlException", "Read-only file system")
SHOWN = 300  # characters


def explained(error: BaseException, to: str) -> SparkJobError:
    """The error of a job that writes to `to`."""
    text = str(error)
    if _has(text, FULL):
        return SparkJobError(
            f"The disk is full, at {to} or where Spark keeps what does not fit into memory.",
            "Make room and start it again: it goes on where it was, and nothing is lost or counts twice.",
            "DISK_FULL",
        )
    if _has(text, DENIED):
        return SparkJobError(
            f"{to}, or a place that is read, may not be used: {_first(text, DENIED)}",
            "Mend the permissions, or name another place with --to.",
            "DENIED",
        )
    if _has(text, CHECKPOINT):
        return SparkJobError(
            f"The checkpoint in {to} is damaged: {_first(text, CHECKPOINT)}",
            f"Delete {to}/_checkpoint and start it again: all segments that are still there are read once "
            "more, and none of their lines counts twice.",
            "CHECKPOINT",
        )
    return SparkJobError(
        f"Spark gave up: {_first(text, ('Exception', 'Error'))}",
        "Start it again; it goes on where it was. All that Spark said: MESH_DEBUG=1, and the same again.",
        "SPARK",
    )


def _has(text: str, signs: tuple[str, ...]) -> bool:
    return any(sign in text for sign in signs)


def _first(text: str, signs: tuple[str, ...]) -> str:
    """The first line that has one of the signs, or the first of all."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["it did not say why"]
    return next((line for line in lines if _has(line, signs)), lines[0])[:SHOWN]
