"""How does one secret become many, so that no key has two jobs? (HKDF, RFC 5869, with SHA-256.)"""

import hashlib
import hmac

SECRET_BYTES = 32
SERVER, GOSSIP, ADVERTS = "curve server", "curve gossip", "adverts"  # jobs, beside one for each role
RELAY = "relay"  # the role of a gateway of another site: no client, and no node
ROLES = ("node", "client", "monitor", RELAY)
ADMIN = "admin"  # of whom a token holds the key that signs, which no other secret gives


def hkdf(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    """`length` bytes, at most 8,160, that tell nothing of the secret nor of what another `info` gives."""
    key = hmac.digest(salt, secret, hashlib.sha256)
    block, made = b"", b""
    for number in range(1, -(-length // hashlib.sha256().digest_size) + 1):
        block = hmac.digest(key, block + info + bytes([number]), hashlib.sha256)
        made += block
    return made[:length]


def derived(secret: bytes, cluster: str, job: str) -> bytes:
    """The 32 bytes for this job. The cluster's name is in them: no two meshes ever have the same."""
    return hkdf(secret, b"heronry\0" + cluster.encode(), job.encode(), SECRET_BYTES)


def relay_secret(secret: bytes, cluster: str, site: str) -> bytes:
    """The secret that gateways of that other site prove here. No two sites have the same."""
    return derived(secret, cluster, f"role {RELAY} {site}")


def role_secret(secret: bytes, cluster: str, role: str) -> bytes:
    """The secret that a HELLO proves, to come in with this role."""
    return derived(secret, cluster, f"role {role}")
