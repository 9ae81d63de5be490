"""Add stencils to the corpus."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..cases import Case, case_of

CORPUS: Final[dict[str, Case]] = {}
DOMAIN: Final = (3, 2, 6)


def add(name: str, arguments: str, body: str, before: str = "", **call: Any) -> None:
    """Add a stencil; `arguments` are lines, `body` is indented for a stencil `s`."""
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    given = ", ".join(each.strip().rstrip(",") for each in arguments.strip().split("\n"))
    call.setdefault("domain", DOMAIN)
    CORPUS[name] = case_of(f"{before}\ndef s({given}):\n{lines}\n", **call)


def field(seed: int, low: float = 0.0, high: float = 1.0, halo: int = 0, levels: int = 6) -> Any:
    """Return a field of numbers around the domain."""
    ni, nj, _ = DOMAIN
    shape = (ni + 2 * halo, nj + 2 * halo, levels)
    return np.random.default_rng(seed).uniform(low, high, shape)


def plane(seed: int, low: float = 0.0, high: float = 1.0, halo: int = 0) -> Any:
    """Return numbers over I and J."""
    return field(seed, low, high, halo)[:, :, 0]


def zeros(*more: int, dtype: str = "float64") -> Any:
    """Return zeros over the domain and further axes."""
    return np.zeros((*DOMAIN, *more), dtype)


def flat(dtype: str = "float64") -> Any:
    """Return zeros over I and J."""
    return np.zeros(DOMAIN[:2], dtype)


def halo(*names: str, width: int = 1) -> dict[str, tuple[int, ...]]:
    """Return the origin of fields with a halo."""
    return dict.fromkeys(names, (width, width, 0))
