"""The options of the writers of C++."""

from __future__ import annotations

from ....runtime.process import classes


@classes.frozen
class WriterOptions:
    """The options of the C++ writer, and the thresholds for threads and non-temporal stores.

    Attributes:
        parallel_from: loop nests over fewer points run on one thread; None lets the call decide.
        stream_from: calls that touch this many bytes use non-temporal stores, and prefetch rows;
            None likewise.
        vector_bytes: the size of a vector register.
        vector_math: whether the C library has `exp` and a few others for vectors.
        own_math: whether the writer emits its own transcendental functions.
        checked: whether every store tests that its number is finite.
        many_outputs: whether the program is of the kind for which `CpuOptions` have this option.

    """

    parallel_from: int | None
    stream_from: int | None = 1 << 62
    vector_bytes: int = 16
    vector_math: bool = False
    own_math: bool = False
    checked: bool = False
    many_outputs: bool = False


@classes.frozen
class Steps:
    """The place of the integer that selects one statement, and the number of each nest's."""

    place: int
    numbers: tuple[int, ...]
