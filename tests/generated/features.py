"""Which parts of the language programs may use: those that all three executions can run.

Each feature has a small program. While parts of the language are being built the generator asks
them; `EVERY` is what a finished house must support.
"""

from __future__ import annotations

from typing import Final

import attrs

from .case import Case, FieldSpec, Group
from .grids import COUNTS
from .isolation import check_apart
from .pieces import Kind

_OPERATOR: Final = """\
@field_operator(backend=None)
def op0(a0: Field[Dims[{source}], float64]):
    return {body}


@program(backend=None)
def program_under_test(f0: Field[Dims[{target}], float64], f1: Field[Dims[{source}], float64]):
    op0(f1, out=f0)
"""
_COLLECTION: Final = """\
class P0(NamedTuple):
    a0: Field[Dims[I, K], float64]
    a1: float64


class R0(NamedTuple):
    x0: Field[Dims[I, K], float64]
    x1: Field[Dims[I, K], float64]


@field_operator(backend=None)
def op0(b0: P0):
    return R0(b0.a0 * b0.a1, x1=b0.a0)


@field_operator(backend=None)
def op1(a0: Field[Dims[I, K], float64]):
    return op0(P0(a0, a1=2.0)).x0


@program(backend=None)
def program_under_test(g0: P0, f0: Field[Dims[I, K], float64]):
    op0(g0, out=(f0, f0))
    op1(P0(g0.a0, 3.0).a0, out=f0)
"""
_POINT: Final = """\
@field_operator(backend=None)
def op0(a0: Field[Dims[I, K], float64], a1: Field[[], float64]):
    return a0 * a1 + broadcast(a1, (K,))


@program(backend=None)
def program_under_test(f0: Field[Dims[I, K], float64], f1: Field[Dims[I, K], float64]):
    op0(f1, 2.0, out=f0)
"""
_SCAN: Final = """\
@scan_operator(axis=K, forward=False, init=(1.0, 0), backend=None)
def op0(state: tuple[float64, int32], a0: float64) -> tuple[float64, int32]:
    return (state[0] * a0, state[1] + 1)


@field_operator(backend=None)
def op1(a0: Field[Dims[I, K], float64]):
    t0 = op0(a0(I + 1) + 1.0)
    return t0[0] * 2.0


@program(backend=None)
def program_under_test(f0: Field[Dims[I, K], float64], f1: Field[Dims[I, K], float64]):
    op1(f1, out=f0)
"""


def _case(
    text: str, target: tuple[str, ...], source: tuple[str, ...], given: tuple[int, int] = (0, 6)
) -> Case:
    fields = []
    for name, dims in (("f0", target), ("f1", source)):
        start, stop = (0, 4) if name == "f0" else given
        box = {dim: (0, COUNTS[dim]) if dim in COUNTS else (start, stop) for dim in dims}
        fields.append(FieldSpec(name, Kind(dims, "float64"), box, True, written=name == "f0"))
    unstructured = any(dim in COUNTS for dim in (*target, *source))
    return Case(text, unstructured, tuple(fields), (), ("f0", "f1"), 0, 0)


def _operator(
    body: str, target: tuple[str, ...], source: tuple[str, ...], given: tuple[int, int] = (0, 6)
) -> Case:
    text = _OPERATOR.format(body=body, target=", ".join(target), source=", ".join(source))
    return _case(text, target, source, given)


PROBES: Final[dict[str, tuple[Case, ...]]] = {
    "regions": (
        _operator(
            "concat_where(((K < 2) & (I >= 1)) | (3 == K), a0, a0 * 2.0)", ("I", "K"), ("I", "K")
        ),
    ),
    "staggered": (
        _operator("a0(Ih + 0.5) - a0(Ih - 1.5)", ("Ih", "K"), ("I", "K"), (-2, 6)),
        _operator("a0(I + 0.5)(K - 1.5)", ("I", "K"), ("Ih", "Kh"), (-2, 6)),
    ),
    "scan": (_case(_SCAN, ("I", "K"), ("I", "K")),),
    "gather": (_operator("a0(E2V[1]) + a0(E2V[0])", ("Edge", "K"), ("Vertex", "K")),),
    "missing": (
        _operator(
            "concat_where(Vertex == 4, 0.0, "
            "where(concat_where((Vertex == 1) | (Vertex == 7), True, False), 1.0, a0(V2E[3])))",
            ("Vertex", "K"),
            ("Edge", "K"),
        ),
    ),
    "collections": (
        attrs.evolve(
            _case(_COLLECTION, ("I", "K"), ("I", "K")),
            order=("g0", "f0"),
            groups=(Group("g0", "P0", ("f1", "s0"), ("a0", "a1")),),
            scalars=(("s0", "float64", "2.0"),),
        ),
    ),
    "points": (_case(_POINT, ("I", "K"), ("I", "K")),),
    "reduce": (
        _operator("neighbor_sum(a0(V2E), axis=V2EDim)", ("Vertex",), ("Edge",)),
        _operator("max_over(a0(V2E) * a0(V2E), axis=V2EDim)", ("Vertex", "K"), ("Edge", "K")),
    ),
}
EVERY: Final = frozenset({*PROBES, "unstructured"})


def supported() -> frozenset[str]:
    """Return the features whose programs agree."""
    found = {name for name, cases in PROBES.items() if not check_apart(cases)}
    return frozenset(found | ({"unstructured"} if found & {"gather", "reduce"} else set()))


if __name__ == "__main__":
    for name, cases in PROBES.items():
        for found in check_apart(cases):
            print(f"{name}: {found.stage}: {found.what[:400]}")  # noqa: T201
    print("supported:", ", ".join(sorted(supported())) or "none")  # noqa: T201
