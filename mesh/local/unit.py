"""The unit of a node as a service of systemd: for the whole machine, under a user of its own, or for one
user."""

from collections.abc import Sequence
from dataclasses import dataclass

from mesh.errors import BadArgument

MARK = "# Made by `mesh service install`, which writes it anew."
STATE = "mesh"  # below /var/lib
WATCHDOG, START, STOP = 30, 600, 30  # s: without a sign of life, until it serves, until it has ended

# What a node never does, so that whoever takes it over cannot either. A user's own systemd has only some.
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
    """A node as a service. `user`: as whom it runs; "" is a service of one user, as that. `writes`: further
    places where it writes, such as those of stores of queues."""

    node: str
    command: Sequence[str]
    user: str = ""
    writes: Sequence[str] = ()

    @property
    def name(self) -> str:
        """Of the unit."""
        return f"heronry-{self.node.replace(':', '-')}.service"

    def text(self) -> str:
        """The whole file. BadArgument for what cannot stand in one."""
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
    """One word of a command line in a unit, whatever is in it. BadArgument for what no unit can say."""
    if not text.isprintable() or "\ufffd" in text:
        raise BadArgument(f"{text!r:.80} cannot stand in a unit: it holds what is not seen.")
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{quoted}"' if not text or set(text) & set(" '\"\\;") else quoted
