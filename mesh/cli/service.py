"""`mesh service`: installs a node as a systemd service."""

import os
import pwd
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import click

from mesh.cli.files import config_file
from mesh.cli.options import print_message
from mesh.config import load
from mesh.errors import BadArgument, MeshError, NotAvailable
from mesh.local.localnodes import check_node_name, names_for
from mesh.local.unit import MARK, ServiceUnit
from mesh.local.user import home_directory
from mesh.printable import typed

SYSTEM = Path("/etc/systemd/system")
USER = "mesh"
for_all = click.option(
    "--system",
    "is_system",
    is_flag=True,
    help="Use the service manager of the system, as root. Default: the service manager of this user.",
)
name = click.option("--id", "node", metavar="NAME", help="Name of the node. Default: the host's name.")


@click.group("service")
def command() -> None:
    """Run a node as a service: systemd starts it, watches it, and restarts it.

    \b
      mesh service install --dry-run        print the unit
      mesh service install                  for this user
      sudo mesh service install --system    for the machine, as user mesh
    """


@command.command("install")
@name
@for_all
@click.option("--user", default=USER, show_default=True, metavar="USER", help="With --system, run as USER.")
@click.option(
    "--config", metavar="FILE", help="Use the mesh.toml FILE. Default: the file that `mesh up` reads here."
)
@click.option("--dry-run", is_flag=True, help="Print the unit without installing it.")
def install(node: str | None, is_system: bool, user: str, config: str | None, dry_run: bool) -> None:
    """Install and start a node's unit. The node then also starts at boot (--system) or at your login."""
    file = config_file(config)
    settings = load(file, os.environ, {"node.id": node})  # fails here instead of in a log
    node = settings.node.id or next(names_for(socket.gethostname()))
    check_node_name(node)
    arguments = ["--id", node, *(("--config", str(file.absolute())) if file else ())]
    service = ServiceUnit(
        node,
        [sys.executable, "-m", "mesh", "up", *arguments],
        user if is_system else "",
        sorted(
            {
                str(Path(one.store.removeprefix("sqlite://")).parent)
                for one in settings.queues
                if "/" in one.store
            }
        ),
    )
    if dry_run:
        click.echo(service.text(), nl=False)
        return
    if is_system:
        _check_user(user)
    path = _place(service.name, is_system)
    _check_ours(path, "Choose another --id, or remove that file.")
    _write(path, service.text())
    _systemctl(is_system, "daemon-reload")
    _systemctl(is_system, "enable", "--now", service.name)
    print_message(f"{path}: node {node!r} runs as a service")
    if not is_system:
        print_message("it ends when you log out, unless you run:  loginctl enable-linger")


@command.command("uninstall")
@name
@for_all
def uninstall(node: str | None, is_system: bool) -> None:
    """Stop a node's service, and remove its unit. The node's data stays."""
    service = _named(node)
    path = _place(service.name, is_system)
    if not path.exists():
        raise BadArgument(
            f"The service {service.name} is not installed: {path} does not exist.",
            hint=f"Use --id for another node, or {'omit' if is_system else 'use'} --system.",
        )
    _check_ours(path, "Name another node with --id, or remove that file by hand.")
    _systemctl(is_system, "disable", "--now", service.name)
    try:
        path.unlink()
    except OSError as error:
        raise _cannot(path, error) from error
    _systemctl(is_system, "daemon-reload")
    print_message(f"{service.name} was removed; the node's data is unchanged")


@command.command("show")
@name
@for_all
def show(node: str | None, is_system: bool) -> int:
    """Print a node's unit. Exit code 0: the service runs; 1: the service does not run, or has no unit."""
    service = _named(node)
    path = _place(service.name, is_system)
    if not path.exists():
        print_message(f"{path} does not exist.  To create it:  mesh service install")
        return 1
    click.echo(_read(path), nl=False)
    is_active = subprocess.run(
        _command(is_system, "is-active", "--quiet", service.name), check=False
    ).returncode
    print_message(f"{service.name} {'is not running' if is_active else 'is running'}")
    return 1 if is_active else 0


def _named(node: str | None) -> ServiceUnit:
    """Return a unit that has the name of a node's unit, but no command. Raises: BadName."""
    name = node or next(names_for(socket.gethostname()))
    check_node_name(name)
    return ServiceUnit(name, ())


def _place(unit: str, is_system: bool) -> Path:
    home = Path(os.environ.get("XDG_CONFIG_HOME") or home_directory(os.environ) / ".config")
    return (SYSTEM if is_system else home / "systemd" / "user") / unit


def _check_ours(path: Path, hint: str) -> None:
    if path.exists() and not _read(path).startswith(MARK):
        what = f"{path} was not created by `mesh service install`, so it was left unchanged."
        raise BadArgument(what, hint=hint)


def _check_user(user: str) -> None:
    try:
        pwd.getpwnam(user)
    except (KeyError, ValueError):
        hint = f"Run: useradd --system --home-dir /var/lib/mesh --shell /usr/sbin/nologin {typed(user)}"
        raise BadArgument(f"The user {user!r:.40} does not exist on this machine.", hint=hint) from None


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o644)
    except OSError as error:
        raise _cannot(path, error) from error


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError as error:
        hint = "Check that it is a file that you can read, or move it aside."
        raise BadArgument(f"{path} cannot be read: {error.strerror}.", hint=hint) from error


def _cannot(path: Path, error: OSError) -> MeshError:
    needs_root = path.parent == SYSTEM and isinstance(error, PermissionError)
    hint = f"Check the permissions and the free space of {path.parent}."
    if needs_root:
        hint = "A service of the machine requires root: sudo."
    return BadArgument(f"{path} cannot be changed: {error.strerror}.", hint=hint)


def _command(is_system: bool, *arguments: str) -> list[str]:
    systemctl = shutil.which("systemctl")
    if systemctl is None:
        hint = (
            "Start `mesh up` with the service manager of this machine; it prints a line on "
            "stdout when it is ready."
        )
        raise NotAvailable("systemctl is not in PATH; this machine may have no systemd.", hint=hint)
    return [systemctl, *(() if is_system else ("--user",)), *arguments]


def _systemctl(is_system: bool, *arguments: str) -> None:
    done = subprocess.run(_command(is_system, *arguments), capture_output=True, text=True, check=False)
    if done.returncode:
        why = done.stderr.strip()[:500].rstrip(".") or f"exit code {done.returncode}"
        what = f"systemctl {' '.join(arguments)} failed: {why}."
        hint = f"See: journalctl {'' if is_system else '--user '}-e"
        raise MeshError(what, hint=hint, code="SYSTEMD")
