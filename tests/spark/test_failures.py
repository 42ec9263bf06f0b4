"""Failures of Spark become errors that say what to do."""

import pytest
from pyspark.errors import PySparkException

from mesh.history.errors import SparkJobError
from mesh.history.failures import CHECKPOINT, explained, in_words, unreadable

TO = "file:///srv/history"


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("java.io.IOException: No space left on device", "DISK_FULL"),
        ("[Errno 28] No space left on device: '/srv/_checkpoint/x'", "DISK_FULL"),
        ("java.lang.OutOfMemoryError: Java heap space", "MEMORY"),
        ("SparkException: Could not allocate memory to grow BytesToBytesMap.", "MEMORY"),
        ("java.io.FileNotFoundException: /srv/x (Permission denied)", "DENIED"),
        ("Mkdirs failed to create file:/proc/x", "DENIED"),
        ("[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file", "CHANGED"),
        ("[PATH_NOT_FOUND] Path does not exist: file:/srv/history/_compact/5", "CHANGED"),
        ("An error occurred. Answer from Java side is empty", "NO_JVM"),
        ("what nobody has ever seen", "SPARK"),
        ("", "SPARK"),
    ],
)
def test_what_java_says_has_a_name_and_a_hint(said: str, code: str) -> None:
    error = explained(OSError(said), TO)
    assert error.code == code and error.what and error.hint
    assert "{" not in str(error)


REFUSED = (
    "ConnectException: Call From here to namenode:8020 failed on connection exception: Connection refused"
)


def test_what_a_server_refuses_to_a_java_that_answers_is_no_end_of_java() -> None:
    assert explained(ConnectionRefusedError("[Errno 111] Connection refused"), TO).code == "NO_JVM"
    told = explained(PySparkException(REFUSED), TO, CHECKPOINT)
    assert told.code == "SPARK" and "namenode:8020" in told.what


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (
            "Failed to read log file file:/srv/history/_checkpoint/5/offsets/1. Incomplete log file",
            "CHECKPOINT",
        ),
        ("Unexpected end-of-input: (start marker at [Source: REDACTED (`StreamReadFeature.INC", "CHECKPOINT"),
        ("[FAILED_READ_FILE] of /srv/snapshots: java.io.IOException: Input/output error", "SPARK"),
        ("java.io.IOException: No space left on device: /srv/_checkpoint/x", "DISK_FULL"),
    ],
)
def test_only_a_stream_that_names_its_checkpoint_tells_to_delete_it(said: str, code: str) -> None:
    assert explained(PySparkException(said), TO, CHECKPOINT).code == code


FILE = "/srv/my history/kind=state/date=2026-01-02/hour=03/part-0.c000.zstd.parquet"
ADDRESS = FILE.replace(" ", "%20")
UNREAD = "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file"
TRACE = (
    "\tat org.apache.spark.sql.errors.Some.thing(Some.scala:1)\n"
    "Caused by: java.util.concurrent.ExecutionException: it failed\n"
    f"Caused by: java.lang.RuntimeException: file:{FILE} is not a Parquet file\n"
)


@pytest.mark.parametrize(
    ("text", "file"),
    [
        (f"{UNREAD} file://{ADDRESS}.  SQLSTATE: KD001", FILE),
        (
            "[FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER] Encountered error while reading file "
            f"file:{FILE}. Could not read footer.",
            FILE,
        ),
        (f"{UNREAD} hdfs://n:8020/a.parquet. ", "hdfs://n:8020/a.parquet"),
        (f"{UNREAD} file:///srv/x-1.jsonl. ", ""),
        (f"{UNREAD} file:///h/_ingest/5/new/a.parquet. ", ""),
    ],
    ids=["value", "footer", "hdfs", "segment", "staged"],
)
def test_only_a_file_of_the_table_is_named_as_unreadable(text: str, file: str) -> None:
    assert unreadable(text) == file
    assert explained(PySparkException(text), TO).code == ("DAMAGED_FILE" if file else "SPARK")


def test_a_damaged_file_is_named_with_its_cause_and_a_command_that_sets_it_aside() -> None:
    text = f"{UNREAD} file://{ADDRESS}.\n{TRACE}"
    told = explained(PySparkException(text), "file:///srv/my history")
    assert told.what.startswith(f"{FILE} cannot be read (java.lang.RuntimeException: ")
    assert told.hint.endswith(f"python -m mesh.history set-aside '{FILE}' --to '/srv/my history'")


@pytest.mark.parametrize(
    ("cause", "code"),
    [("(Permission denied)", "DENIED"), ("java.lang.OutOfMemoryError: Java heap space", "MEMORY")],
)
def test_a_file_that_cannot_be_read_for_another_reason_is_not_damaged(cause: str, code: str) -> None:
    text = f"{UNREAD} file://{ADDRESS}.\n{cause}"
    assert explained(PySparkException(text), TO).code == code


def test_of_many_lines_the_one_that_matters_is_told() -> None:
    text = (
        "An error occurred while calling o98.create.\n: java.io.IOException: the cable is out\n\tat somewhere"
    )
    assert ": java.io.IOException: the cable is out" in explained(OSError(text), TO).what


def test_an_error_of_ours_goes_through_as_it_is() -> None:
    ours = SparkJobError("It is so.", "Do that.", "OURS")
    with pytest.raises(SparkJobError) as caught, in_words(TO):
        raise ours
    assert caught.value is ours
    with pytest.raises(SparkJobError, match="DISK_FULL"), in_words(TO):
        raise OSError("No space left on device")
