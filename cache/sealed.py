"""Seal text with a checksum in its first line, which reveals damage.

A last line may hold a signature, which proves that the writer had the secret.
"""

from __future__ import annotations

import re
from typing import Final

from ..runtime.process.sha256 import sha256

_KIND: Final = r"fieldforge-[a-z]+-\d+"
_SIGNED: Final = "signed "


class ForeignError(ValueError):
    """The text is sound but of another version: it is not used, and stays where it is."""


def seal(kind: str, body: str, secret: bytes | None = None) -> bytes:
    """Put a line with `kind` and a checksum of kind and body before it, and a signature after it.

    >>> unseal("note", seal("note", "hello"))
    'hello'
    >>> unseal("note", seal("note", "hello", b"secret"), b"secret")
    'hello'
    """
    if secret is not None:
        body = f"{body}\n{_SIGNED}{_signature(kind, body, secret)}"
    content = body.encode()
    return f"{kind} {_checksum(kind, content)}\n".encode() + content


def unseal(kind: str, content: bytes, secret: bytes | None = None) -> str:
    """Return the body; `ValueError` when a bit of it, or of the first line, has changed.

    With a secret, text that it did not sign is a `ValueError` too.
    """
    head, newline, body = content.partition(b"\n")
    said, _, checksum = head.decode("ascii", "replace").rpartition(" ")
    if not newline or checksum != _checksum(said, body):
        raise ValueError(f"The checksum line of a '{kind}' does not fit what follows it.")
    if said != kind:
        problem = ForeignError if re.fullmatch(_KIND, said) else ValueError
        raise problem(f"It is a '{said}', not a '{kind}'.")
    text, _, last = body.decode().rpartition("\n")
    signed = last.startswith(_SIGNED)
    if secret is not None:
        import hmac  # most stores have no signatures

        expected = _signature(kind, text, secret)
        if not signed or not hmac.compare_digest(last[len(_SIGNED) :].encode(), expected.encode()):
            raise ValueError(f"The '{kind}' is not signed by the key that is asked for.")
    return text if signed else body.decode()


def _checksum(kind: str, content: bytes) -> str:
    return sha256(kind.encode() + b"\n" + content)


def _signature(kind: str, body: str, secret: bytes) -> str:
    import hmac

    return hmac.new(secret, f"{kind}\n{body}".encode(), "sha256").hexdigest()
