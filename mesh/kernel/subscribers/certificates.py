"""The check of a certificate that comes with a question about a session."""

from __future__ import annotations

from mesh.errors import LocalError, RemoteError
from mesh.kernel.context.node_context import NodeContext
from mesh.routing.visits import Standing
from mesh.wire.commands import Certificate


def check_certificate(context: NodeContext, certificate: Certificate, node: bytes) -> Standing:
    """Record a certificate by which the session is at `node`, and return how it compares: never as outdated.

    Raises: LocalError FORGED_VISIT, MALFORMED, or MOVED for an outdated certificate.
    """
    if certificate.node != node:
        context.counters.add_count("forged_visits")
        raise LocalError("The certificate names another node.", code="FORGED_VISIT")
    try:
        standing = context.visits.observe(certificate)
    except RemoteError as error:
        context.counters.add_count("forged_visits")
        raise LocalError(f"Invalid certificate: {error.what}.", code=error.code) from error
    if standing is Standing.OUTDATED:
        raise LocalError("The session has moved on to another node.", code="MOVED")
    return standing
