"""Checks the names and properties of envelopes that a master is about to accept."""

from __future__ import annotations

from mesh.mapping.keyxml import check_xml
from mesh.patterns import SYSTEM
from mesh.reserved import reserved
from mesh.values import check_domain, check_key
from mesh.wire.envelope import ERASED, Envelope
from mesh.wire.properties import check_properties

# Law 1: only a direct message may have no key.
# Law 2: a reserved key is accepted only from this node itself, or with an erasure.
# Law 3: a key that was accepted once is not checked again.

CHECKED = 100_000  # keys remembered as well-formed


class EnvelopeCheck:
    """The check of envelopes at the node named `me`, and the keys that have passed it."""

    def __init__(self, me: str) -> None:
        self._me = me
        self._checked: set[str] = set()

    def check_envelope(self, envelope: Envelope) -> None:
        """Check the domain, keys and properties of an envelope. Raises: LocalError if one is invalid."""
        check_domain(envelope.domain)
        if envelope.props:  # not decoded elsewhere before it is stored
            check_properties(envelope)
        if envelope.xml:
            check_xml(envelope.xml)
        if self._checked.issuperset(envelope.keys):
            return
        has_system_key = False
        for key in envelope.keys:
            if key or not envelope.to:
                check_key(key)
            # Local clients were refused before.
            if key.startswith(SYSTEM) and not envelope.to:
                self._check_own(key, envelope)
                has_system_key = True
        if envelope.to or has_system_key:  # only a direct message may have no key
            return
        if len(self._checked) >= CHECKED:
            self._checked.clear()
        self._checked.update(envelope.keys)

    def _check_own(self, key: str, envelope: Envelope) -> None:
        """Check that a system message is this node's own, or reports an erased topic."""
        is_own = envelope.sender == f"/node/{self._me}/client/{SYSTEM}"
        if not (is_own and len(envelope.keys) == 1) and not envelope.flags & ERASED:
            raise reserved(key)
