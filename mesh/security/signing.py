"""Public keys of secrets, and signatures. No other file imports PyNaCl."""

from nacl.exceptions import CryptoError
from nacl.public import PrivateKey
from nacl.signing import SigningKey, VerifyKey

from mesh.security.keys import Pair, z85

SIGNATURE_BYTES = 64


def curve_pair(secret: bytes) -> Pair:
    """Return the CURVE key pair with this secret half."""
    return Pair(z85(PrivateKey(secret).public_key.encode()), z85(secret))


def public_key(seed: bytes) -> bytes:
    """Return the Ed25519 key that verifies the signatures by this seed of 32 bytes."""
    return SigningKey(seed).verify_key.encode()


def sign(seed: bytes, text: bytes) -> bytes:
    """Return the signature, 64 bytes."""
    return SigningKey(seed).sign(text).signature


def verify(key: bytes, signature: bytes, text: bytes) -> bool:
    """Return whether the owner of this key signed the text. False for invalid keys and signatures."""
    try:
        VerifyKey(key).verify(text, signature)
    except (CryptoError, ValueError, TypeError):
        return False
    return True
