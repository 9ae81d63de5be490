"""What people are told: each message names what is wrong and what to do."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from click.testing import CliRunner

import fieldforge as ff
from fieldforge.cache.disk import Disk
from fieldforge.workflows.commands.cli import main

from ..dimensions import E2VDim, Line
from ..sources import names_of

I, E, V = ff.Dimension("I"), ff.Dimension("E"), ff.Dimension("V")
E2V = ff.FieldOffset("E2V", source=V, target=(E, E2VDim))
Staggered = ff.flip_staggered(I)
BACKENDS = [None, pytest.param("cpu", marks=pytest.mark.needs_compiler)]


def refused(source):
    """Return the error of an operator whose body is `source`, on a field `a` and a flag."""
    text = f"def op(a: Line, flag: bool) -> Line:\n    {source}\n    return a\n"
    operator = names_of(text, ff=ff, np=np, Line=Line, Staggered=Staggered)["op"]
    with pytest.raises(ff.errors.DSLError) as caught:
        ff.field_operator(operator)
    return str(caught.value)


class TestWorkspaces:
    @pytest.mark.parametrize(
        ("buffer", "flaw"),
        [
            (bytes(64), "'bytes' that is read-only"),
            (np.zeros(64, np.uint8)[::2], "'ndarray' that is not contiguous"),
            (3, "'int', which is no buffer"),
        ],
    )
    def test_a_workspace_that_cannot_be_says_why(self, buffer, flaw):
        with pytest.raises(ff.errors.ArgumentError, match=flaw), ff.workspace(buffer):
            pass


class TestOperators:
    def test_where_of_a_scalar_says_what_its_mask_is(self):
        told = refused("b = ff.where(flag, a, 0.0)")

        assert "'where(mask, a, b)' chooses at every point, so its mask is a field" in told
        assert "'a if condition else b'" in told

    @pytest.mark.parametrize("name", ["sin", "maximum", "sqrt"])
    def test_functions_of_numpy_hint_at_those_of_the_language(self, name):
        told = refused(f"b = np.{name}(a)")

        assert f"Use '{name}' of the language: 'from fieldforge import {name}'." in told

    def test_python_is_called_by_its_own_words(self):
        assert "'a value that nothing takes'" in refused("a + 1.0")
        assert "Only a subset of Python is valid inside operators and programs." in refused("a")

    @pytest.mark.parametrize("backend", BACKENDS)
    def test_staggered_dimensions_are_called_so(self, backend):
        @ff.field_operator(backend=backend)
        def same(a: ff.Field[[Staggered], float]) -> ff.Field[[Staggered], float]:
            return a

        with pytest.raises(ff.errors.ArgumentError) as wrong:
            same(ff.ones({I: 3}), out=ff.ones({I: 3}))
        with pytest.raises(ff.errors.DomainError) as small:
            same(ff.ones({Staggered: 2}), out=ff.ones({Staggered: 3}))

        for caught in (wrong, small):
            assert "I_staggered" in str(caught.value)
            assert "_Staggered" not in str(caught.value)


class TestTables:
    @pytest.mark.parametrize("backend", BACKENDS)
    def test_an_entry_that_leads_outside_is_named_with_its_table(self, backend):
        @ff.field_operator(backend=backend)
        def total(a: ff.Field[[V], float]) -> ff.Field[[E], float]:
            return ff.neighbor_sum(a(E2V), axis=E2VDim)

        table = ff.as_connectivity([E, E2VDim], V, [[0, 1], [1, 7]])
        with pytest.raises(ff.errors.DomainError) as caught:
            total(ff.ones({V: 3}), out=ff.ones({E: 2}), offset_provider={"E2V": table})

        assert "Table 'E2V' holds index 7 at (E=1, E2V=1), which is outside of (0:3)." in (
            caught.value.hints
        )

    @pytest.mark.parametrize("backend", BACKENDS)
    def test_a_neighbour_that_no_table_has_is_named_with_it(self, backend):
        @ff.field_operator(backend=backend)
        def far(a: ff.Field[[V], float]) -> ff.Field[[E], float]:
            return a(E2V[7])

        table = ff.as_connectivity([E, E2VDim], V, [[0, 1], [1, 2]])
        with pytest.raises(ff.errors.DSLError, match=r"Neighbour 7 of 'E2V' .* has 2 neighbours"):
            far(ff.ones({V: 3}), out=ff.ones({E: 2}), offset_provider={"E2V": table})


class TestOptions:
    @pytest.mark.parametrize("recipe", [ff.recipes.cpu, ff.recipes.dace])
    @pytest.mark.parametrize("option", ["arrays", "inline"])
    def test_values_that_are_none_are_refused(self, recipe, option):
        with pytest.raises(ff.errors.OptionError, match="such as '%12', got 'all'"):
            recipe(**{option: "all"})

        assert recipe(**{option: "%3"}).options[f"{recipe().workflow.names[2]}.{option}"] == ("%3",)


def invoke(*arguments):
    return CliRunner().invoke(main, arguments)


PROGRAM = """
import fieldforge as ff

{dim} = ff.Dimension("{dim}")
F = ff.Field[ff.Dims[{dim}], ff.float64]


@ff.field_operator(backend="reference")
def told_apart({arguments}) -> F:
    return {value}
"""


class TestCommands:
    @pytest.mark.parametrize(("command", "what"), [("check", "README.md"), ("build", "x.nc")])
    def test_what_is_neither_lock_file_nor_program_is_an_error_of_one_line(self, command, what):
        found = invoke(command, what)

        assert found.exit_code == 1
        assert found.output == (
            f"Error: Expected a lock file 'NAME.lock' or MODULE:PROGRAM, got '{what}'.\n"
        )

    def test_a_bad_size_names_its_option(self):
        found = invoke("cache", "gc", "--size", "banana")

        assert found.exit_code == 2
        assert "Invalid value for '--size'" in found.output
        assert "got 'banana'" in found.output

    def test_the_demo_without_matplotlib_says_what_to_install(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)

        found = invoke("demo")

        assert found.exit_code == 1
        assert "pip install fieldforge[demo]" in found.output

    def test_a_program_that_was_never_built_is_not_compared_with_a_stranger(
        self, tmp_path, monkeypatch
    ):
        one = PROGRAM.format(dim="I", arguments="a: F, by: float", value="a * by + 2.0")
        other = PROGRAM.format(
            dim="J", arguments="t: F, q: F, n: ff.int32", value="ff.sqrt(ff.maximum(t(J + 1), q))"
        )
        edited = one.replace("2.0", "3.0")
        monkeypatch.setattr("sys.path", [*sys.path])
        told = []
        with ff.using(ff.Engine(Disk(tmp_path / "store"))):
            for name, text in (("one", one), ("other", other), ("edited", edited)):
                (tmp_path / f"{name}.py").write_text(text)
                found = invoke("explain", f"{tmp_path / name}.py:told_apart")
                told.append(found.output)

        assert told[0].startswith("told_apart: 'told_apart' was never built into this store.")
        assert told[1].startswith("told_apart: 'told_apart' was never built into this store.")
        assert "changed from" not in told[1]
        assert "never built" not in told[2]
        assert "-    return a * by + 2.0\n" in told[2]

    def test_what_is_stored_already_was_found(self, capsys, tmp_path):
        @ff.field_operator(backend=ff.recipes.reference())
        def found_again(a: Line) -> Line:
            return a * 17.25

        with ff.using(ff.Engine(Disk(tmp_path / "store"))):
            for _ in range(2):
                ff.precompile([found_again], progress="auto")

        assert capsys.readouterr().err == "[1/1] found_again: built\n[1/1] found_again: found\n"
