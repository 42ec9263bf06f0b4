"""Which public keys belong to a secret, and whose signature is this? The only file that knows PyNaCl."""

from nacl.exceptions import CryptoError
from nacl.public import PrivateKey
from nacl.signing import SigningKey, VerifyKey

from mesh.security.keys import Pair, z85

SIGNATURE_BYTES = 64


def curve_pair(secret: bytes) -> Pair:
    """The CURVE key pair whose secret half these 32 bytes are."""
    return Pair(z85(PrivateKey(secret).public_key.encode()), z85(secret))


def public_key(seed: bytes) -> bytes:
    """The Ed25519 key by which others check what is signed with this seed of 32 bytes."""
    return SigningKey(seed).verify_key.encode()


def sign(seed: bytes, text: bytes) -> bytes:
    """64 bytes."""
    return SigningKey(seed).sign(text).signature


def verify(key: bytes, signature: bytes, text: bytes) -> bool:
    """Did the owner of this key sign that? False also for what is no key or no signature."""
    try:
        VerifyKey(key).verify(text, signature)
    except (CryptoError, ValueError, TypeError):
        return False
    return True
