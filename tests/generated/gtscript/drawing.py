"""Draw stencils of GTScript as text, with the arrays and numbers of one call.

A drawn stencil has a meaning, apart from a few that break a rule of races on purpose: outputs and
what is made of them are read at their own column only, temporaries at other columns and levels
only where they have been assigned.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Final

import attrs
import numpy as np

from fieldforge.stages.gtscript.errors import GTError
from fieldforge.stages.gtscript.parse import parse

from ...stages.gtscript.cases import Case, case_of
from ...stages.gtscript.stencils import definition_of

HALO: Final = 4
LEVELS_AROUND: Final = 3
DOMAIN: Final = (3, 2, 6)
WIDE: Final = (3, 13, 77)  # points along I where it is contiguous: strips, a block, and rests
INTERVALS: Final[tuple[tuple[tuple[int, int | None], ...], ...]] = (
    ((0, None),), ((0, None),), ((0, None),), ((0, 1), (1, None)), ((0, -1), (-1, None)),
    ((0, 1), (1, -1), (-1, None)), ((0, 2), (2, None)), ((1, None),), ((0, -1),), ((1, -1),),
    ((0, 1),), ((-1, None),), ((2, -2),), ((0, 2), (3, None)), ((-2, None),), ((1, 3),),
)  # fmt: skip
DATA: Final = {
    "lev": "Field[np.int64]", "r": "Field[IJ, np.int64]", "v": "Field[IJK, (np.float64, (3,))]",
    "s": "Field[IJK, (np.float64, (2,))]", "tab": "GlobalTable[(np.float64, (3, 2))]",
}  # fmt: skip
STEPS: Final = ("lev", "r - 1", "lev - r", "-lev", "lev - 3", "r + 1")  # within the levels around
BREAKS_RULES: Final = 400  # one read in so many is at any offset


@attrs.define
class Name:
    """A variable that statements may read.

    `whole` tells that all levels have been assigned, `clean` that no output is in it, so that it
    may be read at other columns.
    """

    name: str
    kind: str  # input, output, temporary, plane
    dtype: str
    axes: str
    whole: bool = True
    clean: bool = True
    block: int = -1  # that first assigned it


class Drawing:
    """One stencil while it is drawn."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.names: list[Name] = []
        self.lines: list[str] = []
        self.order = "PARALLEL"
        self.interval: tuple[int, int | None] = (0, None)
        self.block = 0
        self.targets: set[str] = set()  # that this block may assign
        self.functions: list[str] = []
        self.in_region = False
        self.in_if = False
        self.in_test = False
        self.clean = True
        self.least = 1  # levels that reads of temporaries need
        self.in_while = False
        self.in_call = False  # whether only the call knows the interval
        self.acts = False  # whether this block may have what only imperative columns do

    def chance(self, one_in: int) -> bool:
        """Return True once in a while."""
        return self.choose.randrange(one_in) == 0

    def pick(self, values: Sequence[Any]) -> Any:
        """Return one of some values."""
        return values[self.choose.randrange(len(values))]

    # --- expressions -------------------------------------------------------------------------

    def number(self, dtype: str) -> str:
        """Return a literal."""
        if dtype.startswith("int"):
            return str(self.choose.randrange(-3, 6))
        return self.pick(("0.5", "1.5", "-0.25", "2.0", "0.1", "3.0", "1.0", "-2.0"))

    def offset(self, name: Name) -> tuple[int, int, int]:
        """Return where a variable may be read."""
        if self.chance(BREAKS_RULES):
            return self.pick((-1, 0, 1)), self.pick((-1, 0, 1)), self.pick((-1, 0, 1))
        aside = name.kind == "input" or (
            name.kind == "temporary"
            and name.clean
            and (name.name not in self.targets or name.block == self.block)
            and (name.block != self.block or self.order == "PARALLEL")
            and not self.in_region
            and not self.in_if
        )
        i = self.pick((-1, 0, 0, 1)) if aside and self.chance(3) else 0
        j = self.pick((-1, 0, 0, 1)) if aside and self.chance(4) else 0
        return i, j, self.level(name) if "K" in name.axes else 0

    def level(self, name: Name) -> int:
        """Return at which level a variable may be read."""
        own = name.name in self.targets
        if not self.chance(3) or (self.order == "PARALLEL" and own):
            return 0
        if name.kind == "temporary":
            start, stop = self.interval
            allowed = [0]
            allowed += [-1] * (start >= 1 or start < -1)
            allowed += [-2] * (start >= 2)
            allowed += [1] * (stop is not None and stop < 4)
            k = self.pick(allowed)
            self.least = max(self.least, (stop or 0) + k)
            return k
        return self.pick((-1, 1, -1, 1, -2, 2, 0))

    def read(self, dtype: str) -> str:
        """Return a read of a variable of a type."""
        if self.chance(12) and (found := self.place(dtype)):
            return found
        names = [each for each in self.names if each.dtype == dtype and each.whole]
        if not names:
            return self.number(dtype)
        name = self.pick(names)
        i, j, k = self.offset(name)
        self.clean = self.clean and name.kind not in ("output",) and name.clean
        steps = {"I": i, "J": j, "K": k}
        if not any(steps[axis] for axis in name.axes):
            return name.name
        if self.chance(4):
            shown = [f"{axis}{steps[axis]:+d}" for axis in name.axes if steps[axis]]
            return f"{name.name}[{', '.join(shown)}]"
        return f"{name.name}[{', '.join(str(steps[axis]) for axis in name.axes)}]"

    def place(self, dtype: str) -> str:
        """Return a read of an element, of a table, or at a level that a value gives; maybe none.

        Levels and places lie inside of what is read: outside the oracle reads anything.
        """
        if dtype == "int64":
            return "K"
        if dtype != "float64":
            return ""
        self.least = max(self.least, 3)
        index = self.pick(("lev", "lev % 3", "r", "r % 2", "int64(n) % 3", "abs(d) % 3"))
        level = self.pick(("r", "lev", "K - K", "r % 2", "(lev + r) % 3", "lev - 3", "r + 5"))
        choice = self.choose.randrange(8)
        if choice == 4 and self.order == "PARALLEL":
            choice = 3
        own = self.pick(("x", "y"))
        match choice:
            case 0:
                return f"v[0, 0, 0][{self.pick((0, 1, 2))}]"
            case 1:
                return f"v.A[{index}]"
            case 2:
                return f"tab.A[{index}, {self.pick(('0', '1', 'lev % 2'))}]"
            case 3:
                return f"{self.pick('ab')}.at(K={level})"
            case 4 if self.acts:
                self.clean = False
                step = self.pick(STEPS)
                return self.pick((f"{own}.at(K={level})", f"{own}[0, 0, {step}]"))
            case 5:
                return f"{self.pick('ab')}[0, 0, {self.pick(STEPS)}]"
            case 6 if self.order != "PARALLEL" or "s" not in self.targets:
                self.clean = False
                return f"s[0, 0, 0][{self.pick((0, 1))}]"
        return "float64(K)"

    def value(self, dtype: str, depth: int) -> str:
        """Return an expression of a type."""
        if depth <= 0 or self.chance(4):
            return self.read(dtype) if not self.chance(5) else self.scalar(dtype)
        is_float = dtype.startswith("float")
        what = self.choose.randrange(12 if is_float else 8)
        one, other = (lambda: self.value(dtype, depth - 1),) * 2
        match what:
            case 0 | 1 | 2:
                return f"({one()} {self.pick('+-')} {other()})"
            case 3:
                return f"({one()} * {other()})"
            case 4:
                return f"{self.pick(('min', 'max'))}({one()}, {other()})"
            case 5:
                return f"({one()} if {self.test(depth - 1)} else {other()})"
            case 6:
                return f"{self.pick(('abs', '-', '+'))}({one()})"
            case 7:
                return self.cast(dtype, depth)
            case 8:
                return f"({one()} / (abs({other()}) + 1.5))"
            case 9:
                return f"sqrt(abs({one()}))"
            case 10:
                return f"{self.pick(('floor', 'ceil', 'trunc', 'round'))}({one()})"
        return self.call(depth) if dtype == "float64" else f"({one()} % 2.5)"

    def cast(self, dtype: str, depth: int) -> str:
        """Return a conversion from another type."""
        if dtype.startswith("float"):
            other = self.pick(("int32", "int64", "float32", "float64"))
            return f"{dtype}({self.value(other, depth - 1)})"
        return f"({self.value(dtype, depth - 1)} % 7)"

    def call(self, depth: int) -> str:
        """Return a call of a function."""
        one, other = self.value("float64", depth - 1), self.value("float64", depth - 1)
        if self.in_test:
            return self.value("float64", depth - 1)
        which = self.choose.randrange(3)
        if self.in_region or self.in_if or self.order != "PARALLEL":
            which = 0
        if which == 2 and not self.clean:
            which = 1
        plain = self.read("float64")  # the oracle does not inline calls in keyword arguments
        return (f"mix({one}, {other})", f"mix({one}, b={plain})", f"around({one})")[which]

    def scalar(self, dtype: str) -> str:
        """Return a scalar argument, an external or a literal."""
        known = {"float64": ("w", "C", "ns.half"), "int32": ("n",)}.get(dtype, ())
        return self.pick((*known, self.number(dtype), self.number(dtype)))

    def test(self, depth: int) -> str:
        """Return a condition."""
        dtype = self.pick(("float64", "float64", "float64", "int32"))
        if depth > 0 and self.chance(4):
            sides = self.test(depth - 1), self.test(depth - 1)
            return f"({sides[0]} {self.pick(('and', 'or'))} {sides[1]})"
        if self.chance(8):
            return f"(not {self.test(depth - 1)})"
        if self.chance(8):
            return self.pick(("flag", "z", "z", "z[0, 0, -1]", "z[1, 0, 0]"))
        comparison = self.pick(("<", ">", "<=", ">=", "==", "!="))
        return f"({self.value(dtype, depth - 1)} {comparison} {self.value(dtype, depth - 1)})"

    def plain_test(self, depth: int) -> str:
        """Return a condition without calls of functions."""
        self.in_test = True
        found = self.test(depth)
        self.in_test = False
        return found

    # --- statements --------------------------------------------------------------------------

    def target(self) -> Name:
        """Return a variable to assign: an output, a temporary, a plane."""
        sequential = self.order != "PARALLEL"
        mine = [each for each in self.names if each.name in self.targets]
        known = [each for each in mine if each.kind != "plane" or sequential]
        if not known:
            known = [each for each in self.names if each.kind == "output"]
        is_apart = self.in_if or self.in_region or self.in_call
        can_declare = self.interval == (0, None) and not is_apart
        if can_declare and (self.chance(3) or not known):
            dtype = self.pick(("float64", "float64", "float64", "float32", "int32"))
            return Name(f"t{len(self.names)}", "temporary", dtype, "IJK", block=self.block)
        return self.pick(known)

    def assign(self, indent: str) -> None:
        """Draw an assignment."""
        name = self.target()
        self.clean = True
        is_new = name not in self.names
        if not is_new and self.chance(5) and name.kind != "plane":
            op = self.pick("+-*")
            self.lines.append(f"{indent}{name.name} {op}= {self.value(name.dtype, 2)}")
        elif is_new and name.dtype != "float64":
            value = self.value(name.dtype, 3)
            self.lines.append(f"{indent}{name.name}: {name.dtype} = {value}")
        else:
            value = self.value(name.dtype, 3)
            if is_new:
                value = f"float64({value})"
            self.lines.append(f"{indent}{name.name} = {value}")
        self.note(name)
        if is_new:
            self.names.append(name)

    def element(self, indent: str) -> None:
        """Draw an assignment to elements of a field with data axes."""
        self.clean = True
        self.targets.add("s")
        if self.chance(4) and not (self.in_if or self.in_region):  # else the oracle has errors
            self.lines.append(f"{indent}s = {self.number('float64')} * s + {self.pick('ab')}")
            return
        index = self.pick(("0", "1", "lev % 2", "r % 2"))
        self.lines.append(f"{indent}s[0, 0, 0][{index}] = {self.value('float64', 2)}")

    def moved(self, indent: str) -> None:
        """Draw an assignment to another level of an output, or of a temporary inside the domain."""
        start, stop = self.interval
        names = [each for each in self.names if each.kind == "temporary" and each.whole]
        if names and self.chance(3):
            name = self.pick(names)
            allowed = [-1] * (start >= 1) + [1] * (stop is not None and stop < 0) + [0]
            by = str(self.pick(allowed))
            name.clean = False
        else:
            name = self.named(self.pick(("x", "y", "e", "f")))
            by = self.pick(("-1", "1", "2", "-2", *STEPS))
        self.targets.add(name.name)
        value = self.value(name.dtype, 2)
        self.lines.append(f"{indent}{name.name}[0, 0, {by}] = {value}")

    def named(self, name: str) -> Name:
        """Return the variable of a name."""
        return next(each for each in self.names if each.name == name)

    def loop(self, indent: str, depth: int) -> None:
        """Draw a `while` that ends after few rounds."""
        self.clean = True
        count = f"i{len(self.lines)}"
        self.lines.append(f"{indent}{count} = 0")
        test = f"{count} < {self.pick(('2', 'lev + 1', '3'))}"
        if self.chance(3):
            test = f"{test} and {self.plain_test(1)}"
        self.lines.append(f"{indent}while {test}:")
        outer, self.in_if, self.in_while = (self.in_if, self.in_while), True, True
        self.lines.append(f"{indent}    {count} += 1")
        self.body(f"{indent}    ", self.choose.randrange(1, 3), depth - 1)
        self.in_if, self.in_while = outer

    def note(self, name: Name) -> None:
        """Note that a variable has been assigned what the last expression was."""
        self.targets.add(name.name)
        name.clean = name.clean and self.clean and name.kind != "plane"

    def branch(self, indent: str, depth: int) -> None:
        """Draw an `if`."""
        self.clean = True
        self.lines.append(f"{indent}if {self.plain_test(2)}:")
        outer, self.in_if = self.in_if, True
        self.body(f"{indent}    ", self.choose.randrange(1, 3), depth - 1)
        if self.chance(4):
            self.lines.append(f"{indent}elif {self.plain_test(1)}:")
            self.body(f"{indent}    ", 1, depth - 1)
        if self.chance(2):
            self.lines.append(f"{indent}else:")
            self.body(f"{indent}    ", self.choose.randrange(1, 3), depth - 1)
        self.in_if = outer

    def region(self, indent: str, depth: int) -> None:
        """Draw statements in regions."""
        regions = [f"region[{self.limits('I')}, {self.limits('J')}]"]
        if self.chance(3):
            regions.append(f"region[{self.limits('I')}, {self.limits('J')}]")
        self.lines.append(f"{indent}with horizontal({', '.join(regions)}):")
        outer, self.in_region = self.in_region, True
        self.body(f"{indent}    ", self.choose.randrange(1, 3), depth - 1)
        self.in_region = outer

    def limits(self, axis: str) -> str:
        """Return the limits of a region along an axis."""
        first, last = (f"{axis}[{end}]{self.pick(('', '', ' + 1', ' - 1'))}" for end in (0, -1))
        return self.pick((first, last, f"{first} :", f": {last}", f"{first} : {last}"))

    def body(self, indent: str, count: int, depth: int) -> None:
        """Draw some statements."""
        for _ in range(count):
            known = any(each.kind in ("output", "temporary") for each in self.names)
            if depth > 0 and known and self.chance(5):
                self.branch(indent, depth)
            elif depth > 0 and known and not self.in_region and self.chance(9):
                self.region(indent, depth)
            elif self.chance(14):
                self.element(indent)
            elif self.acts and depth > 0 and known and self.chance(3):
                self.loop(indent, depth)
            elif self.acts and self.order != "PARALLEL" and self.chance(3):
                self.moved(indent)
            else:
                self.assign(indent)

    def computation(self) -> None:
        """Draw a computation with its intervals."""
        self.order = self.pick(("PARALLEL", "PARALLEL", "FORWARD", "BACKWARD"))
        self.acts = self.chance(4)
        intervals = self.pick(INTERVALS)
        if self.order == "BACKWARD":
            intervals = tuple(reversed(intervals))
        self.lines.append(f"    with computation({self.order}):")
        for interval in intervals:
            self.interval, shown = interval, _shown(interval)
            if len(intervals) == 1 and self.chance(6):
                self.least, self.in_call = max(self.least, 3), True
                self.interval, shown = self.pick((((0, -1), "0, r"), ((0, None), "r, None")))
            known = [each.name for each in self.names if each.kind != "input"]
            self.targets = {each for each in known if self.chance(2)}
            self.lines.append(f"        with interval({shown}):")
            self.body("            ", self.choose.randrange(1, 5), 2)
            self.in_call = False
            self.block += 1
            for name in self.names:  # from here on it may be read at other columns
                name.block = -1 if name.block < self.block else name.block


def draw(seed: str) -> Case:
    """Draw a stencil and the arguments of a call."""
    drawing = Drawing(random.Random(seed))
    layout = "F" if drawing.chance(3) else "C"
    across = drawing.choose.choice(WIDE) if layout == "F" else DOMAIN[0]
    arrays = dict(_arrays(drawing, across))
    axes = {each.name: each.axes for each in drawing.names}
    drawing.clean = True
    if drawing.chance(3):
        drawing.lines.append("    with computation(FORWARD), interval(0, 1):")
        drawing.lines.append("        m: Field[IJ, np.float64] = 0.5")
        drawing.names.append(Name("m", "plane", "float64", "IJ", clean=False))
        drawing.block += 1
    for _ in range(drawing.choose.randrange(1, 5)):
        drawing.computation()
    types = {name: _type(axes[name], each) for name, each in arrays.items() if name in axes}
    annotations = ", ".join(f"{name}: {each}" for name, each in (types | DATA).items())
    text = f"""
class ns:
    half = 0.5

C = 1.25

@function
def mix(a, b=2.0):
    c = a - b
    if c > 0.0:
        c = 0.5 * c
    return c * b

@function
def around(u):
    v = u[1, 0, 0] - u[0, -1, 0]
    return v + u

def s({annotations}, w: float, n: np.int32, flag: bool):
{chr(10).join(drawing.lines)}
"""
    origin = {name: _origin(axes[name]) for name in axes if name in arrays}
    origin |= dict.fromkeys(("v", "s"), (*_origin("IJK"), 0)) | {"tab": (0, 0)}
    origin |= {"lev": _origin("IJK"), "r": _origin("IJ")}
    choose = drawing.choose
    scalars = {
        "w": ("float64", choose.uniform(-1, 2)),
        "n": ("int32", choose.randrange(-2, 4)),
        "flag": ("bool", choose.randrange(2)),
    }
    columns = (across - choose.randrange(0, 3), choose.randrange(1, 3))
    return case_of(text, arrays, (*columns, _levels(drawing, text)), origin, scalars, layout=layout)


def _shown(interval: tuple[int, int | None]) -> str:
    return "..." if interval == (0, None) else f"{interval[0]}, {interval[1]}"


def _levels(drawing: Drawing, text: str) -> int:
    """Return how many levels a call has: the least number once in a while."""
    most = DOMAIN[2]
    if not drawing.chance(3):
        return most
    try:
        least = parse(definition_of(text))["info"].domain.min_sequential_axis_size
    except GTError:
        return most
    return min(max(least, drawing.least), most)


def _arrays(drawing: Drawing, across: int) -> Any:
    # fields of fewer axes are doubles: 'debug' computes with their numbers as Python's floats
    ni, nj, nk = across + 2 * HALO, DOMAIN[1] + 2 * HALO, DOMAIN[2] + 2 * LEVELS_AROUND
    numbers = np.random.default_rng(drawing.choose.randrange(1 << 30))
    sizes = {"I": ni, "J": nj, "K": nk}
    specs = [("a", "input", "float64", "IJK"), ("b", "input", "float64", "IJK"),
             ("p", "input", "float64", "IJ"), ("c", "input", "float64", "K"),
             ("d", "input", "int32", "IJK"), ("x", "output", "float64", "IJK"),
             ("y", "output", "float64", "IJK"), ("q", "plane", "float64", "IJ"),
             ("f", "output", "float32", "IJK"), ("e", "output", "int32", "IJK"),
             ("g", "input", "float64", "I"), ("h", "input", "float64", "JK"),
             ("l", "input", "float64", "IK"), ("z", "input", "bool", "IJK")]  # fmt: skip
    for name, kind, dtype, axes in specs:
        shape = tuple(sizes[axis] for axis in axes)
        values = (
            numbers.integers(-4, 6, shape) if dtype == "int32" else numbers.uniform(-2, 3, shape)
        )
        drawing.names.append(Name(name, kind, dtype, axes, clean=kind == "input"))
        yield name, values.astype(dtype)
    yield "lev", numbers.integers(0, 3, (ni, nj, nk))
    yield "r", numbers.integers(0, 3, (ni, nj))
    yield "v", numbers.uniform(-2, 3, (ni, nj, nk, 3))
    yield "s", numbers.uniform(-2, 3, (ni, nj, nk, 2))
    yield "tab", numbers.uniform(-2, 3, (3, 2))


def _type(axes: str, array: Any) -> str:
    return f"Field[{'' if axes == 'IJK' else f'{axes}, '}np.{_named(array)}]"


def _named(array: Any) -> str:
    return "bool_" if array.dtype == bool else str(array.dtype)


def _origin(axes: str) -> tuple[int, ...]:
    around = {"I": HALO, "J": HALO, "K": LEVELS_AROUND}
    return tuple(around[axis] for axis in axes)
