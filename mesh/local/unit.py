"""The systemd unit of a node: for the machine, with a user of its own, or for one user."""

from collections.abc import Sequence
from dataclasses import dataclass

from mesh.errors import BadArgument

MARK = "# Created by `mesh service install`, which overwrites it."
STATE = "mesh"  # below /var/lib
WATCHDOG, START, STOP = 30, 600, 30  # s: of silence, to start, to stop

# Restrictions that limit a compromised node. A user's own systemd supports only some.
ANYWHERE = (
    "NoNewPrivileges=yes",
    "LockPersonality=yes",
    "RestrictRealtime=yes",
    "RestrictSUIDSGID=yes",
    "SystemCallArchitectures=native",
    "UMask=0077",
)
OF_SYSTEM = (
    "ProtectSystem=strict",
    "ProtectHome=read-only",
    "PrivateTmp=yes",
    "PrivateDevices=yes",
    "ProtectClock=yes",
    "ProtectControlGroups=yes",
    "ProtectHostname=yes",
    "ProtectKernelLogs=yes",
    "ProtectKernelModules=yes",
    "ProtectKernelTunables=yes",
    "ProtectProc=invisible",
    "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
    "RestrictNamespaces=yes",
    "RemoveIPC=yes",
    "CapabilityBoundingSet=",
    "AmbientCapabilities=",
    "SystemCallFilter=@system-service",
    "SystemCallErrorNumber=EPERM",
)


@dataclass(frozen=True, slots=True)
class ServiceUnit:
    """A node as a systemd service.

    `user` is the user that runs the node; "" means a service of the current user. `writes` are further
    writable paths, such as the paths of queue stores.
    """

    node: str
    command: Sequence[str]
    user: str = ""
    writes: Sequence[str] = ()

    @property
    def name(self) -> str:
        return f"heronry-{self.node.replace(':', '-')}.service"

    def text(self) -> str:
        """Return the unit file. Raises: BadArgument for text that cannot be in one."""
        head = (
            MARK,
            "[Unit]",
            f"Description=Node {self.node} of a mesh (Heronry)",
            "After=network-online.target",
            "Wants=network-online.target",
            "",
            "[Service]",
            "Type=notify",
            f"ExecStart={' '.join(map(word, self.command))}",
            "ExecReload=/bin/kill -HUP $MAINPID",
            "Restart=on-failure",
            "RestartSec=2",
            f"WatchdogSec={WATCHDOG}",
            f"TimeoutStartSec={START}",
            f"TimeoutStopSec={STOP}",
            "LimitNOFILE=65536",
        )
        as_whom = (
            f"User={self.user}",
            f"StateDirectory={STATE}",
            "StateDirectoryMode=0700",
            f"Environment=MESH_STATE_DIR=/var/lib/{STATE}",
            *(f"ReadWritePaths={word(path)}" for path in self.writes),
        )
        hardening = (*ANYWHERE, *(OF_SYSTEM if self.user else ()))
        target = "multi-user.target" if self.user else "default.target"
        lines = (
            *head,
            *(as_whom if self.user else ()),
            *hardening,
            "",
            "[Install]",
            f"WantedBy={target}",
            "",
        )
        return "\n".join(lines)


def word(text: str) -> str:
    """Return a text as one quoted word of a command line. Raises: BadArgument for unprintable text."""
    if not text.isprintable() or "\ufffd" in text:
        what = f"{text!r:.80} cannot be part of a systemd unit: it has unprintable characters or U+FFFD."
        raise BadArgument(what, hint="Use names and paths of printable characters.")
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{quoted}"' if not text or set(text) & set(" '\"\\;") else quoted
