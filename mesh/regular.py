"""Opens a file named by a user only if it is regular, since reading another kind may never end."""

import errno
import os
import stat
from os import PathLike
from typing import BinaryIO


def open_regular(path: str | PathLike[str], flags: int = 0) -> BinaryIO:
    """Open a regular file for reading. Raises: OSError, including for a device, pipe or directory."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    except ValueError as error:
        raise OSError(errno.EINVAL, "no file can have such a name", str(path)) from error
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.ENXIO, "the path is not a regular file", str(path))
