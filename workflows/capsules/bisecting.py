"""Find where two executions of a capsule part: statement, row of an operator, option, pass."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from ...runtime.process import FieldforgeError, classes
from ...stages.artifacts import Lowered, Parsed, Variant
from ...stages.codegen.pass_list import name_of
from ...stages.ir import syntax
from ..backends.backend import Backend
from ..backends.first_tier import first_tier, why_no_first_tier
from .backend_text import options_text
from .capsule import Capsule
from .inside import find_inside
from .replaying import Difference, differences, execute, interpret
from .values import Array
from .written import written_leaves

Results = Mapping[str, Array]


@classes.frozen(eq=False)
class Bisection:
    """What was found: `differences` of the two executions, and `findings` as sentences."""

    one: str
    other: str
    differences: tuple[Difference, ...]
    findings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The report."""
        head = f"'{self.one}' beside '{self.other}'"
        if not self.differences:
            return f"{head}: the results agree, nothing to find."
        rows = [head, *(f"differs: {each}" for each in self.differences), *self.findings]
        return "\n".join(rows)


def bisect(capsule: Capsule, one: Backend, other: Backend, tolerance: float = 0.0) -> Bisection:
    """Run a capsule on two backends and find where the results part.

    `other` is taken to be right: the findings name what in `one` makes the difference.

    Args:
        capsule: what `Capsule.load` read.
        one: the backend with the doubtful results.
        other: the backend to compare with, such as `fieldforge.reference`.
        tolerance: the relative difference that counts as equal; 0 compares bits.

    """
    right = execute(capsule, other)
    found = differences(right, execute(capsule, one), tolerance)
    labels = _label(one, other), _label(other, one)
    if not found:
        return Bisection(*labels, ())
    findings = [
        *_first_tier(capsule, one, right, tolerance),
        *_statement(capsule, one, other, tolerance),
        *_option(capsule, one, other, right, tolerance),
        *_lowering_pass(capsule, one, right, tolerance),
        *_loop_pass(capsule, one, right, tolerance),
    ]
    return Bisection(*labels, found, tuple(findings) or (_nothing(one),))


def _nothing(one: Backend) -> str:
    return (
        f"No statement, option or pass makes the difference alone: look at the code that backend "
        f"'{one.name}' writes and at its compiler."
    )


def _label(one: Backend, other: Backend) -> str:
    mine, theirs = options_text(one), options_text(other)
    own = [f"{name}={text}" for name, text in mine.items() if theirs.get(name, text) != text]
    return f"{one.name}({', '.join(own)})" if own else one.name


# --- the first tier -------------------------------------------------------------------------------


def _first_tier(capsule: Capsule, one: Backend, right: Results, tolerance: float) -> Iterator[str]:
    """Yield what the same program gives where the native core interprets it."""
    if why_no_first_tier(one) is not None:
        return
    agrees = _agrees(capsule, Backend("rows", first_tier(one)), right, tolerance)
    said = (
        "agrees: its own loops or its compiler make" if agrees else "differs too: no compiler makes"
    )
    yield f"first tier: it {said} the difference."


# --- statements -----------------------------------------------------------------------------------


def _statement(capsule: Capsule, one: Backend, other: Backend, tolerance: float) -> Iterator[str]:
    """Yield the first statement after which the results differ, and the place in its operator."""

    def differ(parsed: Parsed, variant: Variant) -> bool:
        try:
            right, wrong = (execute(capsule, each, parsed, variant) for each in (other, one))
        except FieldforgeError:
            return False  # a part of the program that is none by itself
        return bool(differences(right, wrong, tolerance))

    parsed, variant = capsule.parsed, capsule.variant
    if not isinstance(parsed, Parsed):
        return  # a stencil is one statement
    root = parsed.root
    if isinstance(root, syntax.Program):
        low, high = 0, len(root.body)  # the first `low` statements agree, the first `high` differ
        while high - low > 1:
            middle = (low + high) // 2
            is_wrong = differ(*_first_statements(capsule, middle))
            low, high = (low, middle) if is_wrong else (middle, high)
        if len(root.body) > 1:
            yield _said(root, high)
        parsed, variant = _first_statements(capsule, high)
    place = find_inside(parsed, lambda cut: differ(cut, variant))
    if place is not None:
        yield place.text


def _said(root: syntax.Program, number: int) -> str:
    call = root.body[number - 1]
    names = ", ".join(".".join([o.parameter, *map(str, o.path)]) for o in call.outputs)
    callee = call.callee.partition(":")[0]
    return (
        f"statement: {number} of {len(root.body)}, the call of '{callee}' that writes {names}; "
        "with the statements before it alone, the results agree."
    )


def _first_statements(capsule: Capsule, count: int) -> tuple[Parsed, Variant]:
    """Return the program cut after some statements; the arguments stay."""
    parsed = capsule.parsed
    assert isinstance(parsed, Parsed), "only programs have statements"
    assert isinstance(parsed.root, syntax.Program)
    root = classes.evolve(parsed.root, body=parsed.root.body[:count])
    cut = classes.evolve(parsed, root=root)
    left = written_leaves(cut)
    groups = (tuple(n for n in group if n in left) for group in capsule.variant.alike)
    alike = tuple(group for group in groups if len(group) > 1)
    return cut, classes.evolve(capsule.variant, alike=alike)


# --- options --------------------------------------------------------------------------------------


def _option(
    capsule: Capsule, one: Backend, other: Backend, right: Results, tolerance: float
) -> Iterator[str]:
    """Yield the options of `one` that make a difference when they become those of `other`.

    An option of several stages changes in all of them at once, as it was set.
    """
    mine, theirs = options_text(one), options_text(other)
    differing = [name for name in mine if theirs.get(name, mine[name]) != mine[name]]
    for option in dict.fromkeys(name.rpartition(".")[2] for name in differing):
        names = [name for name in differing if name.rpartition(".")[2] == option]
        values = {name: other.options[name] for name in names}
        if _agrees(capsule, one.with_options(**values), right, tolerance):
            yield (
                f"option: {', '.join(names)}; with {theirs[names[0]]} in the place of "
                f"{mine[names[0]]} the results agree."
            )


# --- passes ---------------------------------------------------------------------------------------


def _lowering_pass(
    capsule: Capsule, one: Backend, right: Results, tolerance: float
) -> Iterator[str]:
    """Yield the first pass of stage 'lower' after which the interpreted program differs."""
    from ...stages.ir.dataflow_text import parse
    from ...stages.lower.boxes.infer_boxes import infer_boxes

    stage = dict(one.workflow.nodes).get("lower")
    if stage is None:
        return
    texts = stage.after_passes(parsed=capsule.parsed, variant=capsule.variant)

    def differs(text: str) -> bool:
        lowered: Lowered = infer_boxes(parse(text)[0])
        return bool(differences(right, interpret(capsule, lowered), tolerance))

    names = list(texts)
    if not names or not differs(texts[names[-1]]):
        return  # what is lowered is right
    for before, name in itertools.pairwise(names):
        if differs(texts[name]) and not differs(texts[before]):
            yield (
                f"pass: '{name}' of stage 'lower': after it, the results differ; after '{before}' "
                "they agree."
            )
            return


def _loop_pass(capsule: Capsule, one: Backend, right: Results, tolerance: float) -> Iterator[str]:
    """Yield the passes over loops without which the results agree."""
    stages: dict[str, Any] = dict(one.workflow.nodes)
    passes = getattr(stages.get("codegen"), "passes", ())
    for name in map(name_of, passes):
        try:
            agrees = _agrees(capsule, one.with_passes(**{name: None}), right, tolerance)
        except FieldforgeError:
            continue  # the code generator cannot do without it
        if agrees:
            yield f"pass: '{name}' of stage 'codegen'; without it the results agree."


def _agrees(capsule: Capsule, backend: Backend, right: Results, tolerance: float) -> bool:
    return not differences(right, execute(capsule, backend), tolerance)
