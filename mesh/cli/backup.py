"""`mesh backup`: backs up the data of a node, and restores a node from the backup."""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from mesh import __version__, sync
from mesh.cli import options
from mesh.cli.down import _is_free
from mesh.cli.files import config_file
from mesh.cli.options import print_message, size
from mesh.config import load
from mesh.errors import BadArgument, DataDirRefused, MeshError, NodeNotFound, StoreError
from mesh.local.backup import DONE, FOLDER, gather_stopped, pack, queue_stores, verified
from mesh.local.datadir import IN_USE, kept_identity, try_lock
from mesh.local.manifest import BackupFile, Manifest
from mesh.local.private import refused, state_dir
from mesh.local.queueplaces import QueuePlaces, check_chosen, check_targets
from mesh.local.restore import restore
from mesh.local.unpacking import RATIO
from mesh.printable import typed
from mesh.store.room import is_full

PAUSE = 0.1  # s


@click.group("backup")
def command() -> None:
    """Write the persistent data of a node to a backup file, and restore a node from it.

    Snapshots, the keys of the mesh and stores in PostgreSQL are not included.

    \b
      mesh backup create heron.backup
      mesh backup check heron.backup
      mesh backup restore heron.backup
    """


@command.command("create")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--data",
    metavar="DIR",
    help="Back up a stopped node from its data directory DIR. Default: ask a running node.",
)
@options.url
def create(file: Path, data: str | None, url: str | None) -> None:
    """Write a backup of a node to FILE, which must not exist. A running node keeps running."""
    if file.exists():
        raise BadArgument(
            f"{file} exists already.", hint="Choose another name: a backup never replaces a file."
        )
    _check_directory(file.absolute().parent)
    with _stopped(Path(data)) if data else _running(url) as (name, folder, more):
        uuid, boot, _ = kept_identity(folder) or (b"", 0, b"")

        def about(files: dict[str, BackupFile]) -> Manifest:
            return Manifest(
                node=name,
                uuid=uuid.hex(),
                boot=boot,
                made=time.time_ns(),
                software=f"heronry {__version__}",
                files=files,
                **more,
            )

        try:
            made = pack(folder, file, about)
        except FileExistsError as error:
            hint = "Choose another name: a backup never replaces a file."
            raise BadArgument(f"{file} exists already.", hint=hint) from error
        except OSError as error:
            raise refused(file, error, "Free space, or choose another directory.") from error
    try:
        with verified(file):
            pass  # a backup must be readable when needed
    except MeshError as error:
        file.unlink(missing_ok=True)
        what = f"The new backup was removed, because it could not be checked: {error.what}"
        raise StoreError(what, hint=error.hint, code=error.code) from error
    print_message(f"{file}: node {name!r}, {size(file.stat().st_size)}, checked")
    for store in made.left_out:
        print_message(f"not included: {store}, which has backup tools of its own")


def _check_directory(path: Path) -> None:
    if path.is_dir():
        return
    if path.exists():
        raise BadArgument(f"{path} is not a directory.", hint="Choose a directory for the backup.")
    raise BadArgument(f"The directory {path} does not exist.", hint=f"Create it: mkdir -p {typed(path)}")


queue_store = click.option(
    "--queue-store",
    "given",
    multiple=True,
    metavar="NAME=PATH",
    help="Restore the queue store NAME to PATH. NAME is its file in the backup or its name in [[queues]]. "
    "Can be repeated. Default: the path in the backup, if [[queues]] in mesh.toml or the last start of "
    "the node here also names it.",
)
config_ = click.option(
    "--config", metavar="FILE", help="Read [[queues]] from FILE. Default: the mesh.toml that `mesh up` reads."
)
any_ratio = click.option(
    "--any-ratio",
    is_flag=True,
    help=f"Unpack a backup that expands to over {RATIO} times its size. Only for backups that you trust.",
)


@command.command("check")
@click.argument("file", type=click.Path(path_type=Path))
@queue_store
@config_
@any_ratio
def check(file: Path, given: tuple[str, ...], config: str | None, any_ratio: bool) -> int:
    """Check FILE, and print where `mesh backup restore` would put its files.

    All bytes and rows are read. Exit code 1: FILE is intact, but a queue store in it needs --queue-store or
    an entry in [[queues]] first.
    """
    with verified(file, any_ratio=any_ratio) as (manifest, folder):
        data = state_dir(os.environ) / "data" / manifest.node
        stores = queue_stores(folder)
        places = _places(bool(stores), given, config, data)
        chosen = places.chosen(manifest, stores, data)
        check_targets(file, manifest, chosen, data)
        print_message(f"{file} is complete: {_told(manifest)}")
        _announce((name, chosen.get(name, data / name)) for name in manifest.files)
        try:
            check_chosen(manifest, chosen, places.unknown(stores))
        except DataDirRefused as error:
            print_message(str(error))
            return 1
    print_message(f"{file} is valid")
    return 0


@command.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--data",
    metavar="DIR",
    help="Restore into DIR. Default: data/NAME in your state directory (NAME: of the node).",
)
@click.option("--replace", is_flag=True, help="Move an existing data directory aside if its node is stopped.")
@queue_store
@config_
@any_ratio
def restore_(
    file: Path, data: str | None, replace: bool, given: tuple[str, ...], config: str | None, any_ratio: bool
) -> None:
    """Restore the data directory of a node from FILE.

    The node keeps its identity and returns to the state of the backup. Later messages are lost, and messages
    that were delivered since may be delivered again.
    """
    with verified(file, any_ratio=any_ratio) as (manifest, folder):
        where = Path(data) if data else state_dir(os.environ) / "data" / manifest.node
        has_queues = bool(queue_stores(folder))
    places = _places(has_queues, given, config, where)
    manifest, aside = restore(file, where, replace, places, any_ratio, _announce)
    for old in aside:
        print_message(f"the earlier directory is now {old}")
    print_message(f"{where} is {_told(manifest)}")
    option = f" --data {typed(where)}" if data else ""
    print_message(f"start it once with:  mesh up --id {typed(manifest.node)}{option} --accept-rollback")


def _places(has_queues: bool, given: tuple[str, ...], config: str | None, data: Path) -> QueuePlaces:
    """Return the paths for queue stores that the options, mesh.toml and the node's last start name."""
    by_name = dict[str, str]()
    for each in given:
        name, equals, path = each.rpartition("=")
        if not (name and equals and path):
            raise BadArgument(
                f"--queue-store {each!r:.80} is not NAME=PATH.", hint="For example: orders/#=/srv/q.db"
            )
        by_name[name] = path
    if not has_queues:
        return QueuePlaces((), by_name)
    settings = load(config_file(config), os.environ, {})
    named = [one.store for one in settings.queues]
    return QueuePlaces([*named, *_last_stores(data)], by_name)


def _last_stores(data: Path) -> list[str]:
    """Return the queue stores that the node in `data` used at its last start; none if they are unreadable."""
    try:
        return [store for _, store in queue_stores(data)]
    except (DataDirRefused, OSError):
        return []


def _announce(files: Iterable[tuple[str, Path | None]]) -> None:
    for name, path in files:
        print_message(f"  {name} -> {path or '?'}")


def _told(manifest: Manifest) -> str:
    made = datetime.fromtimestamp(manifest.made / 1e9).astimezone().isoformat(" ", "seconds")
    return f"node {manifest.node!r} as of {made}"


@contextmanager
def _running(url: str | None) -> Iterator[tuple[str, Path, dict[str, Any]]]:
    """Have a running node copy its data, and yield its name, the copy's folder and a report.

    The folder is removed at the end.
    """
    with sync.connect(url) as m:
        info = m.call("info")
        data = Path(info["data"])
        folder = data / FOLDER
        if not os.access(data, os.W_OK):
            hint = "Run this command on the machine of the node, as the user of the node."
            raise NodeNotFound(
                f"The directory of node {info['name']!r}, {data}, does not exist or is not writable here.",
                hint=hint,
            )
        (folder / DONE).unlink(missing_ok=True)
        m.call("backup")
        said = _waited(folder / DONE, lambda: _is_free(data))
    if "error" in said:
        shutil.rmtree(folder, ignore_errors=True)
        what = f"The backup failed: {said['error'].rstrip('.')}."
        raise StoreError(what, hint=said.get("hint") or "Correct the cause, and run the command again.")
    (folder / DONE).unlink()
    try:
        yield str(info["name"]), folder, said
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _waited(done: Path, is_gone: Callable[[], bool]) -> dict[str, Any]:
    """Return the node's report once it exists. There is no time limit, as a large store takes long."""
    while True:
        try:
            said: dict[str, Any] = json.loads(done.read_bytes())
            return said
        except FileNotFoundError:
            if is_gone():
                data = typed(done.parent.parent)
                hint = f"Start the node and try again, or back up the stopped node with --data {data}"
                raise MeshError(
                    "The node ended before the backup was complete.", hint=hint, code="ENDED"
                ) from None
        time.sleep(PAUSE)


@contextmanager
def _stopped(data: Path) -> Iterator[tuple[str, Path, dict[str, Any]]]:
    """Copy the data of a stopped node, and yield its name, the copy's folder and a report."""
    try:
        lock = try_lock(data)
    except (FileNotFoundError, NotADirectoryError) as error:
        why = "the file lock is missing" if data.is_dir() else "no such directory"
        raise DataDirRefused(
            f"{data} is not the data directory of a node: {why}.",
            hint="Name the data directory of the node with --data DIR.",
        ) from error
    except OSError as error:
        hint = "Run this command as the user of the node, who can write there."
        raise refused(data, error, hint) from error
    if lock is None:
        hint = "If its node runs, the node makes the copy itself: mesh backup create FILE --url NAME"
        raise DataDirRefused(f"{data} is in use by another process.", hint=hint, code=IN_USE)
    try:
        with TemporaryDirectory(prefix=".backup-", dir=data) as name:
            try:
                kept_identity(data)  # an error names this file, not its copy
                queues, left_out = gather_stopped(data, Path(name))
            except OSError as error:
                hint = (
                    "Free space on that disk."
                    if is_full(error)
                    else "Run this command as the user of the node, and check that disk."
                )
                raise refused(data, error, hint) from error
            yield data.absolute().name, Path(name), {"queues": queues, "left_out": left_out}
    finally:
        os.close(lock)
