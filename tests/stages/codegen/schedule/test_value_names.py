"""Names of values in options: digests of expressions hold where rows do not."""

from typing import Any

import pytest

import fieldforge as ff
from fieldforge.errors import OptionError
from fieldforge.stages.codegen.schedule.schedule import digests_of, rows_of
from fieldforge.workflows.backends.backend import BACKENDS

from ....dimensions import I, J, Plane

PRODUCT = "%7"  # of `smooth`


@ff.field_operator
def smoothed(u: Plane) -> Plane:
    around = u(I + 1) * u(I - 1)
    return around(J + 1) + around(J - 1)


@ff.field_operator
def edited(v: Plane, u: Plane) -> tuple[Plane, Plane]:
    around = u(I + 1) * u(I - 1)
    return ff.sqrt(v) * v, around(J + 1) + around(J - 1)


@ff.program(backend=ff.cpu)
def smooth(u: Plane, out: Plane):
    smoothed(u, out=out, domain={I: (1, 9), J: (1, 9)})


@ff.program(backend=ff.cpu)
def edit(v: Plane, u: Plane, root: Plane, out: Plane):
    edited(v, u, out=(root, out), domain={I: (1, 9), J: (1, 9)})


def values_of(program: Any) -> Any:
    return program.trace(until="lower")["lower"].artifact.program


def test_a_digest_names_the_same_value_after_an_edit() -> None:
    before, after = values_of(smooth), values_of(edit)
    name = digests_of([PRODUCT], before)

    (row,) = rows_of(name, after)

    assert row != PRODUCT
    assert digests_of([row], after) == name
    assert rows_of(("%:000000000000", row), after) == (row,)


def test_digests_tell_every_value_of_a_program_apart() -> None:
    program = values_of(edit)
    names = [f"%{row}" for row in range(len(program.values))]
    assert list(rows_of(digests_of(names, program), program)) == names
    assert digests_of(["%999"], program) == ()  # as a file of options may have for another program


def test_options_take_digests() -> None:
    (name,) = digests_of([PRODUCT], values_of(smooth))
    by_row, by_digest = (
        smooth.with_backend(BACKENDS["cpu"].with_options(arrays=(each,)))
        .trace(until="codegen")["codegen"]
        .text
        for each in (PRODUCT, name)
    )
    assert by_row == by_digest
    assert by_row != smooth.trace(until="codegen")["codegen"].text
    with pytest.raises(OptionError, match="names of values"):
        BACKENDS["cpu"].with_options(arrays=("smooth",))
