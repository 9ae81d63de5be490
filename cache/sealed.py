"""Text with its own checksum in the first line, so that no damage to it goes unseen."""

from __future__ import annotations

import hashlib


def seal(kind: str, body: str) -> bytes:
    """Put a line with `kind` and the SHA-256 of `body` before it.

    >>> unseal("note", seal("note", "hello"))
    'hello'
    """
    content = body.encode()
    return f"{kind} {hashlib.sha256(content).hexdigest()}\n".encode() + content


def unseal(kind: str, content: bytes) -> str:
    """Return the body; `ValueError` when a bit of it, or of the first line, has changed."""
    head, newline, body = content.partition(b"\n")
    expected = f"{kind} {hashlib.sha256(body).hexdigest()}".encode()
    if not newline or head != expected:
        raise ValueError(f"The checksum line of a '{kind}' does not fit what follows it.")
    return body.decode()
