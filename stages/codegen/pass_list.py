"""What decides how a program is scheduled, and the option that lists the loop passes in order.

Passes are names of built-in ones, or functions.

Each platform has its own list in `cpu/options.py` or `gpu/options.py`, and the functions of the
names in `pass_list.py` beside it. None of these modules imports a pass before a kernel is made,
because a warm start reads the option and runs no pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

from ...runtime.language import Dimension
from ...runtime.process import OptionError, classes
from ...runtime.process.class_fields import Field
from .. import Kind, Stage, listed
from ..machine import Machine


@classes.frozen
class Rules:
    """The target and the options that decide; `arrays` and `inline` name values, as in '%12'.

    With `columns_apart` a scan walks one column after another, whatever the layout; with `hands_on`
    scans over the same columns hand numbers on in the memory of their core. A program of
    `many_outputs`, as an adjoint, shares tiles among outputs on several boxes. `own` are the
    options of the platform, such as `GpuOptions`: its passes read them by its `options_of`.
    """

    target: Machine
    arrays: tuple[str, ...] = ()
    inline: tuple[str, ...] = ()
    units: tuple[tuple[str, Dimension], ...] = ()
    jam: bool = False
    checked: bool = False
    columns_apart: bool = False
    hands_on: bool = False
    many_outputs: bool = False
    own: object = None


LoopPass: TypeAlias = Callable[..., Any]  # from a kernel and the rules to a kernel
PassName: TypeAlias = str | LoopPass

PLAN_ONLY: Final = ("plan_arena",)  # on all platforms


def name_of(step: PassName) -> str:
    """Return the name of a pass: itself, or that of the function.

    >>> name_of("tile"), name_of(name_of)
    ('tile', 'name_of')
    """
    return step if isinstance(step, str) else step.__name__


def functions_of(passes: Iterable[PassName], ours: Iterable[LoopPass]) -> tuple[LoopPass, ...]:
    """Return the functions of passes, of which those with a name are `ours`.

    >>> functions_of(("name_of", len), (name_of,)) == (name_of, len)
    True
    """
    named = {name_of(step): step for step in ours}
    return tuple(named[step] if isinstance(step, str) else step for step in passes)


def check_passes(stage: Stage, option: Field, passes: tuple[PassName, ...]) -> None:
    """Refuse unknown names, functions without a name, and two passes of one name.

    The option's default has all names that the platform knows.
    """
    known: tuple[str, ...] = option.default or ()
    seen: set[str] = set()
    for step in passes:
        if not isinstance(step, str) and getattr(step, "__name__", "<lambda>") == "<lambda>":
            raise OptionError(
                "A loop pass is a named function from 'Kernel' and 'Rules' to 'Kernel', "
                f"got {step!r}.",
                hints=("Write 'def my_pass(kernel, rules): ...'.",),
            )
        if isinstance(step, str) and step not in known:
            raise OptionError(f"There is no loop pass '{step}'.", name=step, known=known)
        if name_of(step) in seen:
            raise OptionError(f"Stage '{stage.name}' has two loop passes '{name_of(step)}'.")
        seen.add(name_of(step))


LOOP_PASSES: Final = Kind(
    "a list of names of loop passes and of named functions",
    lambda value: (
        isinstance(value, tuple) and all(isinstance(p, str) or callable(p) for p in value)
    ),
    listed,
    then=check_passes,
)


def without(passes: Iterable[PassName], *names: str) -> tuple[PassName, ...]:
    """Leave out passes of ours by name.

    >>> without(("tile", "stream", "plan_arena"), "tile", "march")
    ('stream', 'plan_arena')
    """
    return tuple(step for step in passes if step not in names)


def edited(
    passes: Sequence[PassName],
    added: Sequence[PassName],
    changed: dict[str, PassName | None],
    before: str | None = None,
    after: str | None = None,
) -> tuple[PassName, ...]:
    """Return a list with other passes: some replaced, removed (None), or added beside one.

    >>> edited(("tile", "stream", "plan_arena"), [], {"stream": None})
    ('tile', 'plan_arena')
    >>> edited(("tile", "plan_arena"), ["stream"], {}, after="tile")
    ('tile', 'stream', 'plan_arena')
    """
    names = [name_of(step) for step in passes]
    for name in (*changed, *(place for place in (before, after) if place is not None)):
        if name not in names:
            raise OptionError(
                f"The code generator runs no loop pass '{name}'.", name=name, known=names
            )
    if added and (before is None) == (after is None):
        raise OptionError(
            f"Where does loop pass '{name_of(added[0])}' run?",
            hints=(f"Write 'before=' or 'after=' with one of {', '.join(map(repr, names))}.",),
        )
    result: list[PassName] = []
    for name, step in zip(names, passes, strict=True):
        result += added if name == before else ()
        kept = changed.get(name, step)
        result += () if kept is None else (kept,)
        result += added if name == after else ()
    return tuple(result)
