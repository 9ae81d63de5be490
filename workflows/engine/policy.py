"""Policies: look up only, build on a miss, or build without loading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Literal, Self, TypeAlias, get_args

from ...runtime.process import FieldforgeError, OptionError

Policy: TypeAlias = Literal["must_hit", "may_build", "build_only"]

_of_thread: Final[ContextVar[Policy | None]] = ContextVar("policy_of_thread", default=None)
_chosen: list[tuple[Policy, object]] = []  # the object distinguishes blocks with equal policies


class NotStoredError(FieldforgeError, RuntimeError):
    """A stage would have to run although the policy is `must_hit`."""

    def __init__(self, program: str, stage: str, kind: str, components: Mapping[str, str]) -> None:
        super().__init__(
            f"'{program}' is not in the store: stage '{stage}' would have to run.",
            hints=[
                "Build it before: 'precompile([...])', or 'fieldforge build' with a lock file; "
                "'check([...])' lists everything that is missing."
            ],
        )
        self.program, self.stage, self.kind = program, stage, kind
        self.components = dict(components)

    def explained(self, text: str) -> Self:
        """Add a sentence to the message; returns the error itself."""
        self.message = f"{self.message} {text}"
        return self


class NotLoadedError(FieldforgeError, RuntimeError):
    """A program is called although the policy is `build_only`."""


@contextmanager
def policy(chosen: Policy) -> Iterator[None]:
    """Set what builds may do inside the block, in all threads.

    `must_hit`: a cache miss raises `NotStoredError`, so nothing compiles inside a time loop.
    `may_build`, the default: a cache miss builds. `build_only`: results go to the store, and
    nothing is loaded or called, as when building for another machine.

    >>> with policy("must_hit"):
    ...     current_policy()
    'must_hit'
    """
    if chosen not in get_args(Policy):
        raise OptionError(
            f"There is no policy '{chosen}'.", name=str(chosen), known=get_args(Policy)
        )
    block = (chosen, object())
    _chosen.append(block)
    try:
        yield
    finally:
        _chosen.remove(block)


def current_policy() -> Policy:
    """Return the policy of the innermost block."""
    own = _of_thread.get()
    if own is not None:
        return own
    return _chosen[-1][0] if _chosen else "may_build"


def has_policy() -> bool:
    """Tell whether a block has set a policy: calls in it build as it says, and at once."""
    return _of_thread.get() is not None or bool(_chosen)


@contextmanager
def policy_of_thread(chosen: Policy) -> Iterator[None]:
    """Set what builds may do inside the block in this thread only."""
    token = _of_thread.set(chosen)
    try:
        yield
    finally:
        _of_thread.reset(token)
