"""SHA-256 of what a start reads, without OpenSSL, which `hashlib` takes 2 ms to load."""

from __future__ import annotations

from typing import Final

from .. import _values

_SMALL: Final = 1 << 20  # above, OpenSSL gains more than it takes on processors without SHA


def sha256(content: bytes) -> str:
    """Return the digest of bytes in hexadecimal.

    >>> sha256(b"")[:16]
    'e3b0c44298fc1c14'
    """
    if len(content) <= _SMALL:
        return _values.sha256(content).hex()
    import hashlib

    return hashlib.sha256(content).hexdigest()
