"""Key derivation: one secret yields a key for each purpose, by HKDF (RFC 5869) with SHA-256."""

import hashlib
import hmac

SECRET_BYTES = 32
SERVER, GOSSIP, ADVERTS = "curve server", "curve gossip", "adverts"  # purposes, besides one for each role
RELAY = "relay"  # role of a gateway of another site
ROLES = ("node", "client", "monitor", RELAY)
ADMIN = "admin"  # holds the signing key, which is not derived


def hkdf(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    """Return `length` bytes, at most 8,160, that reveal neither the secret nor other results."""
    key = hmac.digest(salt, secret, hashlib.sha256)
    block, made = b"", b""
    for number in range(1, -(-length // hashlib.sha256().digest_size) + 1):
        block = hmac.digest(key, block + info + bytes([number]), hashlib.sha256)
        made += block
    return made[:length]


def derived(secret: bytes, cluster: str, job: str) -> bytes:
    """Return the key of 32 bytes for the purpose `job`.

    The key depends on the cluster's name, so no two meshes share it.
    """
    return hkdf(secret, b"heronry\0" + cluster.encode(), job.encode(), SECRET_BYTES)


def relay_secret(secret: bytes, cluster: str, site: str) -> bytes:
    """Return the secret that gateways of the site `site` prove here. Each site has its own."""
    return derived(secret, cluster, f"role {RELAY} {site}")


def role_secret(secret: bytes, cluster: str, role: str) -> bytes:
    """Return the secret that a HELLO proves for this role."""
    return derived(secret, cluster, f"role {role}")
