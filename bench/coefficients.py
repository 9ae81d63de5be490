"""The polynomials of `stages/codegen/mathematics`: python bench/coefficients.py [name ...].

Each is the polynomial of its degree with the smallest largest error, found by Remez' exchange
(Muller et al., "Handbook of Floating-Point Arithmetic", 2nd edition, section 10.3) in 60 digits.
`scale` is what an error of the polynomial becomes in the result: the error that is printed, as a
power of two, is one of the function. Needs mpmath, which comes with sympy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs
import mpmath
import numpy as np
from mpmath import mpf

mpmath.mp.dps = 60
Real = Any
ROOT: Final = mpmath.sqrt(2)
HALF_LN2: Final = mpmath.log(2) / 2 * mpf("1.0001")  # reductions are off by a rounding


@attrs.frozen
class Fit:
    """A function on [low, high], the degree that approximates it, and the type of its numbers."""

    function: Callable[[Real], Real]
    scale: Callable[[Real], Real]
    low: Real
    high: Real
    degree: int
    single: bool = False


def remez(fit: Fit, turns: int = 30, grid: int = 1200) -> tuple[list[Real], Real]:
    """Return coefficients, lowest first, and the largest error, on a grid dense at the ends."""
    middle, half = (fit.low + fit.high) / 2, (fit.high - fit.low) / 2
    places = [middle - half * mpmath.cos(mpmath.pi * n / (grid - 1)) for n in range(grid)]
    places = [x for x in places if fit.scale(x) != 0]
    values, scales = [fit.function(x) for x in places], [fit.scale(x) for x in places]
    count = fit.degree + 2
    chosen = [round(n * (len(places) - 1) / (count - 1)) for n in range(count)]
    for _ in range(turns):
        rows = [
            [*(places[k] ** power for power in range(fit.degree + 1)), (-1) ** n / scales[k]]
            for n, k in enumerate(chosen)
        ]
        *found, level = mpmath.lu_solve(
            mpmath.matrix(rows), mpmath.matrix([values[k] for k in chosen])
        )
        errors = [
            (mpmath.polyval(found[::-1], x) - value) * scale
            for x, value, scale in zip(places, values, scales, strict=True)
        ]
        before, chosen = chosen, _exchanged(errors, count)
        if chosen == before:
            break
    return found, max(abs(level), *(abs(each) for each in errors))


def _exchanged(errors: Sequence[Real], count: int) -> list[int]:
    """Return the places of the largest errors of alternating sign."""
    best: list[int] = []
    for k, error in enumerate(errors):
        if not best or error * errors[best[-1]] < 0:
            best.append(k)
        elif abs(error) > abs(errors[best[-1]]):
            best[-1] = k
    while len(best) > count:
        best.pop(0 if abs(errors[best[0]]) < abs(errors[best[-1]]) else -1)
    return best


def _atanh(z: Real) -> Real:
    """Return 2 atanh(s) / s at z = s^2."""
    return mpmath.hyp2f1(mpf(1) / 2, 1, mpf(3) / 2, z) * 2


def _series(f: Callable[[Real], Real], known: int) -> Callable[[Real], Real]:
    """Return `f` less its first terms, divided by the power that is left: what follows 0 too."""
    terms = mpmath.taylor(f, 0, known + 24)

    def rest(x: Real) -> Real:
        if abs(x) > mpf("0.02"):
            return (f(x) - mpmath.polyval(terms[:known][::-1], x)) / x**known
        return mpmath.polyval(terms[known:][::-1], x)

    return rest


def _one(_: Real) -> Real:
    return mpf(1)


def _third(_: Real) -> Real:
    return mpf(1) / 3


S2: Final = ((ROOT - 1) / (ROOT + 1)) ** 2 * mpf("1.0001")
FITS: Final = {
    # e^r = 1 + r + r^2 P(r)
    "exp f64": Fit(_series(mpmath.exp, 2), lambda r: r**2, -HALF_LN2, HALF_LN2, 9),
    "exp f32": Fit(_series(mpmath.exp, 2), lambda r: r**2, -HALF_LN2, HALF_LN2, 4, single=True),
    # log m = 2 s + s z P(z), s = (m - 1) / (m + 1), z = s^2
    "log f64": Fit(_series(_atanh, 1), lambda z: z / 2, mpf(0), S2, 6),
    # log(1 + f) = f - f^2 / 2 + f^3 P(f)
    "log f32": Fit(
        _series(mpmath.log1p, 3), lambda f: f**2, 1 / ROOT - 1, ROOT - 1, 8, single=True
    ),
    # log m = 2 s + 2/3 s^3 + s z^2 P(z)
    "pow f64": Fit(_series(_atanh, 2), lambda z: z**2 / 2, mpf(0), S2, 7),
    # log2 m = s P(z), and 2^r = P(r)
    "pow f32, log2": Fit(lambda z: _atanh(z) / mpmath.log(2), _third, mpf(0), S2, 5),
    "pow f32, exp2": Fit(lambda r: mpf(2) ** r, _one, mpf(-1) / 2, mpf(1) / 2, 7),
    # atan u = u + u z P(z), asin u likewise, z = u^2
    "arctan f64": Fit(
        _series(lambda z: mpmath.hyp2f1(mpf(1) / 2, 1, mpf(3) / 2, -z), 1),
        lambda z: z,
        mpf(0),
        (ROOT - 1) ** 2 * mpf("1.0001"),
        10,
    ),
    "arcsin f64": Fit(
        _series(lambda z: mpmath.hyp2f1(mpf(1) / 2, mpf(1) / 2, mpf(3) / 2, z), 1),
        lambda z: z,
        mpf(0),
        mpf(1) / 4,
        12,
    ),
    # the cube root of a number from 1/2 to 4, where it begins
    "cbrt f64": Fit(mpmath.cbrt, lambda m: 1 / mpmath.cbrt(m), mpf("0.5"), mpf(4), 5),
}


def spelled(value: Real, single: bool) -> str:
    """Return a number as a C++ literal, rounded to its type."""
    number = float(np.float32(float(value))) if single else float(value)
    return float.hex(number).replace("0p", "p") if single else float.hex(number)


def main(names: Sequence[str]) -> None:
    """Print the functions named, or all."""
    for name, fit in FITS.items():
        if not names or any(each in name for each in names):
            found, error = remez(fit)
            print(f"{name}: error 2^{float(mpmath.log(error, 2)):.1f}")
            for value in found:
                print(f"    {spelled(value, fit.single)}{'f' if fit.single else ''}")
    for name, value in (("ln 2", mpmath.log(2)), ("1 / ln 2", 1 / mpmath.log(2))):
        if not names:
            print(name, mpmath.nstr(value, 40))


if __name__ == "__main__":
    main(sys.argv[1:])
