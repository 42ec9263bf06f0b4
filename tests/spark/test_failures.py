"""When Spark gives up, does somebody learn what to do?"""

import pytest

from spark.errors import SparkJobError
from spark.failures import explained, in_words

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
        ("An error occurred. Answer from Java side is empty", "NO_JVM"),
        ("what nobody has ever seen", "SPARK"),
        ("", "SPARK"),
    ],
)
def test_what_java_says_has_a_name_and_a_hint(said: str, code: str) -> None:
    error = explained(OSError(said), TO)
    assert error.code == code and error.what and error.hint
    assert "{" not in str(error)


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
