"""Every option of every stage has a kind, and no way to set one avoids it."""

from pathlib import Path

import attrs
import numpy as np
import pytest

import fieldforge as ff
from fieldforge.errors import OptionError
from fieldforge.runtime.process import settings
from fieldforge.stages import Numbers, Stage, kind_of
from fieldforge.stages.parse.stage import Check
from fieldforge.workflows.backends.backend import BACKENDS
from fieldforge.workflows.backends.pipelines import stages
from fieldforge.workflows.options.database import database
from fieldforge.workflows.options.schema import schemas

from ..dimensions import I, J, K, Levels

STAGES = [*stages().values(), Check]
FIELDS = [(stage, field) for stage in STAGES for field in attrs.fields(stage)]
PROGRAM = "model:step"


@ff.field_operator
def risen(u: Levels) -> Levels:
    return u(I + 1) - u


@ff.program
def rise(u: Levels, out: Levels):
    risen(u, out=out)


# (backend, option, value that no stage can use, a value that it can)
WRONG = [
    ("cpu", "tile_size", 2**63 - 1, 64),
    ("cpu", "tile_size", 2**70, 0),
    ("cpu", "tile_size", 2**16 + 1, 2**16),
    ("cpu", "tile_size", "big", 8),
    ("cpu", "tile_size", True, 8),
    ("cpu", "parallel_from", -1, 0),
    ("cpu", "stream_from", -1, 0),
    ("cpu", "jam", "no", False),
    ("cpu", "patches", True, ff.Patches(2048)),
    ("cpu", "patches", ff.Patches(64, 128), ff.Patches(128, 64)),
    ("cpu", "patches", ff.Patches(64, levels=8), False),
    ("cpu", "arrays", ("3",), ("%3",)),
    ("cpu", "numerics", "exact", "strict"),
    ("cpu", "flags", (1,), ("-O2",)),
    ("cpu", "passes", 3, ("tile",)),
    ("gpu", "block", ff.ThreadBlock(32, 64), ff.ThreadBlock(32, 4)),
    ("gpu", "block", (1, 1, 128), ff.ThreadBlock(8, 4, 2)),
    ("gpu", "block", (-1,), ff.ThreadBlock(128)),
    ("gpu", "column_block", "64", ff.ThreadBlock(64)),
    ("gpu", "points", ff.ThreadPoints(3), ff.ThreadPoints(4)),
    ("gpu", "unaligned", 1, True),
    ("gpu", "ahead", -2, -1),
    ("dace_gpu", "block_1d", (2048,), ff.ThreadBlock(64)),
    ("dace_gpu", "launch_bounds", "many", "256"),
]


@pytest.mark.parametrize(
    ("stage", "field"), FIELDS, ids=[f"{stage.name}.{field.name}" for stage, field in FIELDS]
)
def test_every_field_of_every_stage_has_a_kind(stage, field):
    kind = kind_of(field)

    assert kind is not None, "declare it by 'option', with its kind"
    default = field.default
    made = default.factory() if isinstance(default, attrs.Factory) else default
    assert kind.taken(field.name, made) == made


def test_the_stages_are_all_that_there_are():
    known = {Stage}
    for kind in known.copy():
        known |= set(kind.__subclasses__())
    ours = {kind for kind in known if kind.__module__.startswith("fieldforge.stages.")}

    assert {kind for kind in ours if hasattr(kind, "name") and attrs.fields(kind)} <= {
        *STAGES, *(kind for kind in ours if kind.__name__ in ("PassStage", "SdfgStage"))
    }  # fmt: skip


def by_options(backend, name, value, folder):
    return BACKENDS[backend].with_options(**{name: value})


def by_call(backend, name, value, folder):
    return database().applied(BACKENDS[backend], PROGRAM, {name: value})


def written(value):
    """Write a value as files have it."""
    if isinstance(value, Numbers):
        return value.table
    text = str(list(value) if isinstance(value, tuple) else value)
    return text.replace("True", "true").replace("False", "false")


def by_file(backend, name, value, folder):
    file = Path(folder, "model.toml")
    text = written(value)
    quoted = f'"{value}"' if isinstance(value, str) else text
    file.write_text(f"[[when]]\nbackend = '{backend}'\nset.{name} = {quoted}\n")
    return ff.use_options(file).applied(BACKENDS[backend], PROGRAM)


def by_environment(backend, name, value, folder):
    given = (("jam", "true"), (name, written(value)))
    settings.set_current(attrs.evolve(settings.current(), options=given))
    return database().applied(BACKENDS[backend], PROGRAM)


@pytest.mark.parametrize("way", [by_options, by_call, by_file, by_environment])
@pytest.mark.parametrize(("backend", "name", "wrong", "right"), WRONG)
def test_a_value_is_checked_whichever_way_it_comes(way, backend, name, wrong, right, tmp_path):
    if (way is by_environment and name == "column_block") or (way is by_file and wrong == 2**70):
        wrong = (-1,) if name == "column_block" else 2**62  # a text means numbers; TOML has 64 bits

    with pytest.raises(OptionError) as caught:
        way(backend, name, wrong, tmp_path)

    assert f"{name}'" in str(caught.value)
    assert " takes " in str(caught.value)
    assert ", got " in str(caught.value)
    options = way(backend, name, right, tmp_path).options
    assert any(options[each] == right for each in options if each.rpartition(".")[2] == name)


def test_the_schema_has_every_option_that_a_file_can_write():
    known = {option.name for schema in schemas().values() for option in schema.options}

    for name in ("block", "points", "patches", "unaligned", "column_block", "block_1d", "block_2d"):
        assert f"codegen.{name}" in known


@pytest.mark.needs_compiler
@pytest.mark.parametrize(
    ("backend", "options"),
    [
        ("cpu", {"tile_size": 1 << 16, "parallel_from": 0}),
        ("cpu", {"parallel_from": 1 << 62, "stream_from": 1 << 62}),
        ("gpu-host", {"points": ff.ThreadPoints(16, 16), "block": ff.ThreadBlock(16, 1, 64)}),
    ],
    ids=str,
)
def test_the_largest_values_that_are_taken_compute_right(backend, options):
    u = ff.as_field({I: (0, 41), J: 5, K: 3}, np.random.default_rng(1).random((41, 5, 3)))
    out, expected = (ff.zeros({I: 40, J: 5, K: 3}) for _ in range(2))

    rise.with_backend(None)(u, expected)
    rise.with_backend(BACKENDS[backend].with_options(**options))(u, out)

    assert np.array_equal(out.asnumpy(), expected.asnumpy())


@pytest.mark.parametrize(
    "wrong", [{"enable_jit": "no"}, {"build_budget": -1}, {"static_domains": 1}], ids=str
)
def test_compilation_options_of_a_decorator_are_checked(wrong):
    with pytest.raises(OptionError, match=r"Option '\w+' takes .*, got "):

        @ff.field_operator(**wrong)
        def same(u: ff.Field[[], ff.float64]) -> ff.Field[[], ff.float64]:
            return u
