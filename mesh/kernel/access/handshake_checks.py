"""Checks of the other end of a connection: version, role, cluster, proofs and passwords."""

# Law 1: on a socket that other users could open, both ends prove a secret before they are admitted.
# Law 2: a client's stream is named after a key, which also signs HELLO where a secret must be proven.
# Law 3: passwords are not exchanged with gateways.

from __future__ import annotations

from collections.abc import Sequence

from mesh.kernel.access.connection_proofs import ConnectionProofs
from mesh.kernel.context.conn import NODE, Conn
from mesh.kernel.context.node_context import NodeContext
from mesh.password import Password
from mesh.proof import PROOF_BYTES, STREAM_KEY, stream_of
from mesh.wire.commands import CLIENT, NODE_CONTROL, NODE_DATA, RELAY, Hello, Refuse, Welcome
from mesh.wire.limits import VERSION_MIN
from mesh.wire.spoken import agreed, in_common

JOIN = "The refused user runs `mesh join` with a token: `mesh token`, on a node of this mesh."
NEWER = "The client runs an earlier release and has no key: upgrade it to the node's release."
JOIN_SITE = (
    "Run `mesh token --role relay --site NAME` at the refusing site, and `mesh join --site NAME` "
    "at the other site."
)
REJOIN_SITE = f"{JOIN_SITE.removesuffix('.')}, with `--replace`."
REJOIN_DIALED = "Run `mesh token --role relay --site NAME` there, and `mesh join --site NAME --replace` here."
COPIED = "Its data directory may be a copy: start the copy with another `--data DIR`."
OTHER_USER = "Both must run as the same user, with the same state directory (MESH_STATE_DIR)."


class HandshakeChecks:
    """The conditions under which this node accepts a HELLO or a WELCOME.

    Each check returns the refusal, or `None` if the other end fits.
    """

    def __init__(self, context: NodeContext, proofs: ConnectionProofs) -> None:
        self._context = context
        self._proofs = proofs
        passwd = proofs.keyring.passwd if proofs.keyring is not None else ""
        self._password = Password(passwd) if passwd else None

    def _agree(self, conn: Conn, oldest: int, newest: int, speaks: Sequence[str]) -> int:
        """Set the version and features of a connection, and return the version; 0 if there is none."""
        conn.version = agreed(oldest, newest, self._context.settings.wire_version)
        conn.speaks = in_common(conn.version, speaks, self._context.face.features)
        return conn.version

    # --- HELLO ------------------------------------------------------------------------------------------

    def unfit(self, conn: Conn, h: Hello) -> Refuse | None:
        """Check the claims of HELLO about the dialing end, before any proof."""
        return (
            self._other_version(conn, h)
            or self._wrong_role(conn, h)
            or self._other_cluster(h)
            or self._unnamed_stream(h)
        )

    def _other_version(self, conn: Conn, h: Hello) -> Refuse | None:
        oldest, newest = h.versions
        if not self._agree(conn, oldest, newest, h.speaks):
            ours = (
                f"but {self._context.me.name} supports {VERSION_MIN} to {self._context.settings.wire_version}"
            )
            text = f"{who_of(h)} supports wire versions {oldest} to {newest}, {ours}"
            return Refuse("VERSION", text, "Upgrade both to the same release.", final=True)
        if h.proof and not conn.trusted and len(h.proof) != PROOF_BYTES:
            size = f"{len(h.proof)} bytes, but {self._context.me.name} requires {PROOF_BYTES}"
            text = f"{who_of(h)} proves its secret with {size}"
            return Refuse("VERSION", text, "Upgrade both to the same release.", final=True)
        return None

    def _wrong_role(self, conn: Conn, h: Hello) -> Refuse | None:
        if h.role == RELAY:
            return self._no_gate(conn, h)
        if h.role not in (CLIENT, NODE_CONTROL, NODE_DATA, *self._context.face.connection_roles):
            text = f"{self._context.me.name} does not know the role {h.role[:20]!r} of {who_of(h)}"
            return Refuse("ROLE", text, "Upgrade both to the same release.", final=True)
        return None

    def _no_gate(self, conn: Conn, h: Hello) -> Refuse | None:
        settings, keyring = self._context.settings, self._proofs.keyring
        known = keyring.relays if keyring is not None else {}
        if not settings.site.is_relay:
            text = f"{self._context.me.name} is not a gateway to other sites"
            return Refuse("ROLE", text, "Dial a node that has `relay = true` in [site].", final=True)
        if conn.trusted:
            text = "gateways of other sites cannot connect over the local socket"
            hint = f"Dial a tcp:// address of {self._context.me.name}."
            return Refuse("ROLE", text, hint, final=True)
        if h.site not in known or h.site not in settings.site.addresses:
            return self._no_site(h.site)
        if h.node is None or len(h.node.uuid) != 16:
            text = f"a gateway of {h.site} introduced itself without a uuid of 16 bytes"
            return Refuse("MALFORMED", text, final=True)
        if h.node.uuid == self._context.me.uuid:
            text = f"{who_of(h)}, a gateway of {h.site}, has the identity of {self._context.me.name}"
            return Refuse("MALFORMED", text, COPIED, final=True)
        return None

    def _no_site(self, site: str) -> Refuse:
        own, here = self._context.settings.site, self._context.settings.site.name
        if self._proofs.keyring is None:
            text = f"{here} has no keys, so it accepts no gateway of the site {site[:64]!r}"
            return Refuse("SITE", text, f"Run `mesh init` at {here}, and restart its nodes.", final=True)
        if site in own.addresses:
            return Refuse("SITE", f"{here} has no keys for the site {site[:64]!r}", JOIN_SITE, final=True)
        if site in own.ways:
            text = f"{here} is linked to the site {site[:64]!r} only through {own.ways[site]}"
            hint = f"For a direct link, write `addresses` instead of `via` in [sites.{site[:64]}] at {here}."
            return Refuse("SITE", text, hint, final=True)
        text = f"{here} does not know the site {site[:64]!r}"
        hint = f"Add [sites.NAME], with exactly that name, to mesh.toml at {here}."
        return Refuse("SITE", text, hint, final=True)

    def _other_cluster(self, h: Hello) -> Refuse | None:
        cluster = self._context.settings.cluster
        if h.cluster in (("", cluster) if h.role != RELAY else (cluster,)):
            return None
        if h.role == RELAY:
            text = f"{who_of(h)} of {h.site} has keys for cluster {h.cluster[:64]!r}, but this is {cluster!r}"
            return Refuse("CLUSTER", text, REJOIN_SITE, final=True)
        here = f"but {self._context.me.name} to {cluster!r}"
        text = f"{who_of(h)} belongs to cluster {h.cluster[:64]!r}, {here}"
        return Refuse("CLUSTER", text, "Start both with the same `node.cluster`.", final=True)

    def _unnamed_stream(self, h: Hello) -> Refuse | None:
        if h.role != CLIENT or (len(h.key) == STREAM_KEY and h.stream == stream_of(h.key)):
            return None
        text = f"the stream of {who_of(h)} is not named after its key"
        return Refuse("FORGED_STREAM", text, NEWER, final=True)

    def unproven(self, conn: Conn, h: Hello) -> Refuse | None:
        """Check the secret, key and password of the dialing end, and set `conn.grant`."""
        if conn.trusted:
            conn.grant = NODE
            return None
        granted = self._proofs.granted(conn, h)
        if granted is None:
            return self._wrong_secret(h)
        conn.grant = granted
        return self._unsigned(conn, h) or self._wrong_password(conn, h)

    def _wrong_secret(self, h: Hello) -> Refuse:
        if self._proofs.keyring is None:
            self._context.counters.add_count("wrong_cookie")
            text = f"{who_of(h)} does not know this user's cookie"
            return Refuse("BAD_COOKIE", text, OTHER_USER, final=True)
        if h.role == RELAY:
            text = f"{who_of(h)} does not know the secret for gateways of {h.site}"
            return Refuse("WRONG_SECRET", text, REJOIN_SITE, final=True)
        text = f"{who_of(h)} does not know the secret of a {NODE if h.role != CLIENT else 'client'}"
        return Refuse("WRONG_SECRET", f"{text} of this mesh", JOIN, final=True)

    def _unsigned(self, conn: Conn, h: Hello) -> Refuse | None:
        if h.role == CLIENT:
            what = f"{who_of(h)} did not sign with the key of its stream"
            is_signed = self._proofs.is_stream_signed(conn, h)
            return None if is_signed else Refuse("FORGED_STREAM", what, final=True)
        what = f"{who_of(h)} did not sign with its key"
        is_signed = self._proofs.is_node_signed(conn, h)
        return None if is_signed else Refuse("WRONG_SIGNATURE", what, final=True)

    def _wrong_password(self, conn: Conn, h: Hello) -> Refuse | None:
        if self._password is None or h.role == RELAY:
            return None
        why = self._password.refusal(conn.user, h.passwd, self._context.clock.now)
        hint = f"Clients: `mesh join --passwd`. Nodes: passwd in [nodes.{self._context.me.name}]."
        return Refuse("PASSWORD", f"{self._context.me.name}: {why}", hint, final=True) if why else None

    # --- WELCOME ----------------------------------------------------------------------------------------

    def unfit_welcome(self, conn: Conn, w: Welcome) -> Refuse | None:
        """Check the WELCOME of a dialed end.

        Unless the connection is trusted, a proof is required even if the listener asked for none of ours, and
        so is this node's password, if it has one. Gateways of other sites need no password.
        """
        refusal = None if conn.trusted else self._impostor(conn, w) or self._no_password(conn, w)
        if refusal is not None or self._agree(conn, w.version, w.version, w.speaks):
            return refusal
        text = f"{w.node.name} chose wire version {w.version}, which this node does not support"
        return Refuse("VERSION", text, "Upgrade both to the same release.")

    def _impostor(self, conn: Conn, w: Welcome) -> Refuse | None:
        if not self._proofs.knows_secret(conn, w):
            if self._proofs.keyring is None:
                text = f"{conn.endpoint} does not know this user's cookie"
                return Refuse("BAD_COOKIE", text, OTHER_USER, final=True)
            text = f"{conn.endpoint} does not know the secret"
            if conn.site:
                own = self._context.settings.site.name
                return Refuse("WRONG_SECRET", f"{text} for gateways of {own}", REJOIN_DIALED, final=True)
            return Refuse("WRONG_SECRET", f"{text} of a node of this mesh", JOIN, final=True)
        if not self._proofs.is_welcome_signed(conn, w):
            return Refuse("WRONG_SIGNATURE", f"{conn.endpoint} did not sign with its key", final=True)
        return None

    def _no_password(self, conn: Conn, w: Welcome) -> Refuse | None:
        if self._password is None or conn.site:
            return None
        why = self._password.refusal(w.node.key.hex(), w.passwd, self._context.clock.now)
        text = f"{w.node.name} did not send the password of this node: {why}"
        return Refuse("PASSWORD", text) if why else None


def who_of(h: Hello) -> str:
    name = h.node.name if h.node else h.client
    return repr(name)[:80] if name else "a client" if h.role == CLIENT else "a stranger"
