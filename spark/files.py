"""File access by the driver through the file systems of Hadoop, which Spark itself uses.

A place may be a local path, file:, hdfs: or s3a:. A name without a scheme is a local path.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from mesh.history.errors import SparkJobError

MISSING = "java.io.FileNotFoundException"
PRESENT = ("org.apache.hadoop.fs.FileAlreadyExistsException", "java.nio.file.FileAlreadyExistsException")

HERE = "file:"
PATTERN = "*?[]{}\\"
SCHEME = re.compile(r"^[^:/]+:(?://[^/]*)?")  # file: and hdfs://HOST:PORT


def address(place: str) -> str:
    """Return the full address of a place, independent of the working directory, without a final slash.

    Raises SparkJobError BAD_PLACE for characters that Spark would read as a pattern.
    """
    if odd := sorted(set(PATTERN) & set(place)):
        raise SparkJobError(
            f"{place!r} cannot be used: Spark reads names with {' '.join(odd)} as wildcards.",
            "Use a name without these characters.",
            "BAD_PLACE",
        )
    whole = place if ":/" in place else f"file://{os.path.abspath(place)}"
    return whole.rstrip("/")


def history_address(place: str) -> str:
    """Return the address of a history. Raises: SparkJobError BAD_PLACE, also if a name in it has a colon."""
    whole = address(place)
    if ":" in SCHEME.sub("", whole):
        raise SparkJobError(
            f"{place!r} cannot have a history: Spark reads a name with a colon as an address.",
            "Use a name without a colon.",
            "BAD_PLACE",
        )
    return whole


def path_here(address: str) -> str:
    """Return the local path of a file: address."""
    return "/" + address.removeprefix(HERE).lstrip("/")


def is_remote(session: SparkSession) -> bool:
    """Return whether this is a session of Spark Connect, which has no JVM on this side."""
    return not hasattr(session, "_jvm")


class Reads(Protocol):
    """File operations for reading a history."""

    def find(self, folder: str, pattern: str) -> list[str]:
        """Return the paths below a directory that match `pattern`, sorted."""

    def read(self, place: str) -> str | None:
        """Return the text of a file, or None if it does not exist."""


class Files(Reads):
    """The file systems of a session; failures are Py4JJavaErrors with Java's messages, or OSErrors.

    The constructor raises SparkJobError CONNECT for a session of Spark Connect.
    """

    def __init__(self, session: SparkSession) -> None:
        if is_remote(session):
            raise SparkJobError(
                "A history can be written only by a session with its own JVM, not over Spark Connect.",
                "Ingest on the machine with Spark:  python -m mesh.history ingest --from PLACE --to PLACE",
                "CONNECT",
            )
        context = session.sparkContext
        assert context._jvm is not None
        self._jvm: Any = context._jvm
        self._conf: Any = context._jsc.hadoopConfiguration()
        # Checksum files named .NAME.crc are useless, and a name with a colon cannot have one.
        local = self._jvm.org.apache.hadoop.fs.FileSystem.getLocal(self._conf)
        local.setWriteChecksum(False)
        local.setVerifyChecksum(False)

    def find(self, folder: str, pattern: str) -> list[str]:
        """Return the paths below a directory that match `pattern`, sorted: `find(place, "kind=*/date=*")`.

        The result is empty if there is no such directory.
        """
        # All paths in one text, because calls into the JVM are slow.
        paths = self._jvm.org.apache.spark.deploy.SparkHadoopUtil.get().globPath(
            self._path(f"{folder}/{pattern}")
        )
        depth = pattern.count("/") + 1
        return sorted("/".join(path.split("/")[-depth:]) for path in paths.mkString("\n").splitlines())

    def has(self, folder: str, pattern: str) -> bool:
        """Return whether a file in `folder`, or in a directory of segments below it, matches `pattern`.

        In a local directory, all levels are searched.
        """
        if folder.startswith(HERE):
            return next(Path(path_here(folder)).rglob(pattern), None) is not None
        return bool(self.find(folder, pattern) or self.find(folder, f"date=*/hour=*/{pattern}"))

    def size(self, place: str) -> int | None:
        """Return the size of a file in bytes, or None if it does not exist."""
        if place.startswith(HERE):  # avoids a slow call into the JVM
            try:
                return os.stat(path_here(place)).st_size
            except FileNotFoundError:
                return None
        if not self.exists(place):
            return None
        return int(self._system(place).getFileStatus(self._path(place)).getLen())

    def links(self, folder: str) -> list[str]:
        """Return the symbolic links below a local directory, as Spark writes their addresses.

        Spark follows them, wherever they lead. In other file systems the result is empty.
        """
        if not folder.startswith(HERE):
            return []
        return [str(self._path(f"file://{path}").toUri()) for path in _links(path_here(folder))]

    def count(self, folder: str) -> int:
        """Return the number of files in a directory, at all levels."""
        return int(self._system(folder).getContentSummary(self._path(folder)).getFileCount())

    def exists(self, place: str) -> bool:
        return bool(self._system(place).exists(self._path(place)))

    def read(self, place: str) -> str | None:
        """Return the text of a file, or None if it does not exist."""
        try:
            stream = self._system(place).open(self._path(place))
        except Py4JJavaError as error:
            if not _is(error, MISSING):
                raise
            if not self.exists(place):
                return None
            # The file was created just now, or may not be read, which Java reports as missing, too.
            stream = self._system(place).open(self._path(place))
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def create(self, place: str, text: str) -> bool:
        """Create a file unless it exists, and return whether it was created.

        Only one of several concurrent calls succeeds, except in an object store.
        """
        if place.startswith(HERE):  # here Hadoop would check first and then write
            return _create(path_here(place), text)
        try:
            self._write(place, text, overwrite=False)
        except Py4JJavaError as error:
            if _is(error, *PRESENT):
                return False
            raise
        return True

    def overwrite(self, place: str, text: str) -> None:
        """Overwrite a file in place.

        A concurrent reader may find it empty.
        """
        self._write(place, text, overwrite=True)

    def replace_file(self, place: str, text: str) -> None:
        """Replace a local file atomically, even in case of a power failure.

        On other file systems there may briefly be neither the old file nor the new one.
        """
        folder, _, name = place.rpartition("/")
        beside = f"{folder}/.{name}.new"
        self._write(beside, text, overwrite=True)
        if place.startswith(HERE):  # here Hadoop's rename would fail
            self.settle(folder, [f".{name}.new"])
            os.replace(path_here(beside), path_here(place))
            self.settle(folder, [name])
        else:
            self.remove(place)
            self.move(beside, place)

    def move(self, source: str, target: str) -> None:
        """Rename a file to a free name, and create directories as needed. Raises: OSError."""
        system = self._system(target)
        system.mkdirs(self._path(target.rpartition("/")[0]))
        if not system.rename(self._path(source), self._path(target)):
            raise OSError(f"{source} cannot be moved to {target}")

    def remove(self, place: str) -> None:
        """Delete a file or a directory tree, if it exists."""
        self._system(place).delete(self._path(place), True)

    def settle(self, folder: str, names: Iterable[str]) -> None:
        """Sync local files, and all directories from `folder` down to them, to disk.

        Other file systems do that themselves.
        """
        if not folder.startswith(HERE):
            return
        paths = {PurePosixPath(name) for name in names}
        above = {parent for path in paths for parent in path.parents}
        for path in (PurePosixPath(path_here(folder), inner) for inner in (*paths, *above)):
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def _write(self, place: str, text: str, overwrite: bool) -> None:
        stream = self._system(place).create(self._path(place), overwrite)
        try:
            stream.write(text.encode())
        finally:
            stream.close()

    def _path(self, place: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(place)

    def _system(self, place: str) -> Any:
        return self._path(place).getFileSystem(self._conf)


def _links(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as found:
            for entry in found:
                if entry.is_symlink():
                    yield entry.path
                elif entry.is_dir(follow_symlinks=False):
                    yield from _links(entry.path)
    except FileNotFoundError:  # the node has deleted it
        pass


def _create(path: str, text: str) -> bool:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        with open(path, "x") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True


def _is(error: Py4JJavaError, *classes: str) -> bool:
    return error.java_exception.getClass().getName() in classes
