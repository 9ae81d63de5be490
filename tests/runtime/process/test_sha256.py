"""SHA-256 of the core is that of the standard library, with and without instructions for it."""

import hashlib
import random

import pytest

from fieldforge.runtime import _values
from fieldforge.runtime.process.sha256 import sha256

CHANCE = random.Random(7)


@pytest.mark.parametrize("plainly", [False, True])
def test_the_digest_is_that_of_the_standard_library(plainly):
    for size in (*range(200), 4096, 100_001):
        content = CHANCE.randbytes(size)
        assert _values.sha256(content, plainly) == hashlib.sha256(content).digest(), size


@pytest.mark.parametrize("size", [0, 1000, 1 << 20, (1 << 20) + 1])
def test_long_contents_have_the_same_digest(size):
    content = CHANCE.randbytes(size)
    assert sha256(content) == hashlib.sha256(content).hexdigest()


def test_only_bytes_have_a_digest():
    with pytest.raises(TypeError):
        _values.sha256("text")
