"""Programs on meshes on the command line: which tables they read, and how commands get to know."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.runtime.process.errors import MissingOffsetError
from fieldforge.workflows.batches.addresses import load_module
from fieldforge.workflows.commands.arguments import read_tables
from fieldforge.workflows.variants.tables import TableKind

MODEL = """
import numpy as np
import fieldforge as ff

Cell, Edge = ff.Dimension("Cell"), ff.Dimension("Edge")
E2CDim = ff.Dimension("E2C", ff.DimensionKind.LOCAL)
E2C = ff.FieldOffset("E2C", source=Cell, target=(Edge, E2CDim))
Cells, Edges = ff.Field[ff.Dims[Cell], ff.float64], ff.Field[ff.Dims[Edge], ff.float64]

@ff.field_operator
def difference(c: Cells, k: float) -> Edges:
    return k * (c(E2C[0]) - c(E2C[1]))

@ff.program(backend=ff.cpu)
def gradient(c: Cells, k: float, out: Edges):
    difference(c, k, out=out)

def tables():
    return {"E2C": ff.as_connectivity([Edge, E2CDim], Cell, np.array([[0, 1], [1, 2]], np.int32))}

made = tables()
called, compiled, embedded = (gradient.with_backend(each) for each in ("cpu", "cpu", None))
c, out = ff.ones({Cell: 3}), ff.zeros({Edge: 2})
called(c, 2.0, out, offset_provider=tables())
compiled.compile(offset_provider=tables())
embedded(c, 2.0, out, offset_provider=tables())
bound = gradient.bind(c=c, k=1.0, offset_provider=tables())
ready = ff.setup(gradient, constant_args={"k": 1.0}, offset_provider=tables())
limited = called.with_threads(1)
"""

pytestmark = pytest.mark.filterwarnings("ignore:Program .* runs embedded")


@pytest.fixture
def model(tmp_path, own_engine):
    file = tmp_path / "on_edges.py"
    file.write_text(MODEL)
    return file


@pytest.mark.parametrize("name", ["called", "compiled", "embedded", "bound", "ready", "limited"])
def test_a_program_that_has_seen_its_tables_needs_nothing(model, call, name):
    for command in ("show", "explain", "build", "check", "graph", "audit"):
        done = call(command, f"{model}:{name}")
        assert done.exit_code == 0, (command, done.output)
    assert "1 of 1 builds are in the store." in call("check", f"{model}:{name}").output


@pytest.mark.parametrize("name", ["gradient", "difference"])
@pytest.mark.parametrize(
    "command", ["show", "explain", "build", "check", "report", "audit", "export -o lib"]
)
def test_without_tables_a_command_says_how_to_give_them(model, call, command, name):
    done = call(*command.split(), f"{model}:{name}")

    assert done.exit_code == 2
    assert f"'{name}' reads the neighbour tables 'E2C': give a mesh with '--tables" in done.output
    assert "'--tables E2C=2'" in done.output
    assert "offset_provider" not in done.output


@pytest.mark.parametrize("tables", ["E2C=2", "{npz}", ":tables", ":made"])
def test_tables_come_from_a_file_a_function_or_as_sizes(model, call, tmp_path, tables):
    np.savez(tmp_path / "mesh.npz", E2C=[[0, 1], [1, 2]])
    words = tables.format(npz=tmp_path / "mesh.npz")

    shown = call("show", f"{model}:gradient", "--tables", words, "--stage", "lower").output
    built = call("build", f"{model}:gradient", "--tables", words)
    checked = call("check", f"{model}:gradient", "--tables", words)

    assert "E2C" in shown
    assert built.exit_code == checked.exit_code == 0
    assert "1 of 1 builds are in the store." in checked.output


def test_tables_that_are_no_dictionary_are_refused(model, call):
    done = call("show", f"{model}:gradient", "--tables", ":np")

    assert done.exit_code == 2
    assert "gives a 'module', no dictionary of tables." in done.output


@pytest.mark.parametrize("tables", ["E2C=2", ":tables"])
def test_an_audit_lowers_programs_with_the_tables_it_was_told(model, call, tables):
    done = call("audit", f"{model}:gradient", f"{model}:difference", "--tables", tables)

    assert done.output == "2 programs gave the same bytes in 2 processes.\n"


@pytest.mark.parametrize(("name", "words"), [("gradient", ["--tables", "E2C=2"]), ("ready", [])])
def test_an_export_takes_tables_as_other_commands_do(model, call, tmp_path, name, words):
    done = call("export", f"{model}:{name}", "-o", tmp_path / "lib", *words)

    assert done.exit_code == 0, done.output
    assert "E2C" in (tmp_path / "lib" / "exported.h").read_text()


@pytest.mark.parametrize("command", ["tune", "report"])
def test_sizes_on_a_mesh_ask_for_a_function_that_returns_the_tables(model, call, command):
    done = call(command, f"{model}:gradient", "--args", "Cell=3, Edge=2, k=1.0")

    assert done.exit_code == 2
    assert "reads the neighbour tables 'E2C', which sizes do not give: name a func" in done.output


def test_a_mesh_file_gives_the_tables_that_follow_from_it(tmp_path):
    pytest.importorskip("netCDF4", reason="the extra 'xarray' is not installed")
    mesh = ff.Mesh(
        {"C2V": np.array([[0, 1, 2], [1, 3, 2]])}, {"V": ([0.0, 1, 0, 1], [0.0, 0, 1, 1])}
    )
    mesh.to_xarray().to_netcdf(tmp_path / "square.nc")

    found = read_tables(str(tmp_path / "square.nc"), ["E2C", "C2E"], "model:step")

    assert (found["E2C"], found["C2E"]) == (TableKind(2, -1), TableKind(3))


def test_a_report_takes_tables_by_option_or_with_the_arguments(model, call, tmp_path):
    address, page = f"{model}:gradient", tmp_path / "page.html"

    written = call("report", address, "--tables", "E2C=2", "-o", page)
    twice = call("report", address, "--tables", "E2C=2", "--args", ":tables", "-o", page)

    assert written.exit_code == 0
    assert "gradient" in page.read_text()
    assert "as 'offset_provider'" in twice.output


def test_words_that_are_no_sizes_are_refused(model, call):
    done = call("show", f"{model}:gradient", "--tables", "E2C=two")

    assert done.exit_code == 2
    assert "'E2C=two' is not NAME=NEIGHBOURS, such as 'C2E=3'." in done.output


def test_a_trace_knows_the_tables_of_an_earlier_call(model):
    made = load_module(str(model))

    for name in ("called", "compiled", "embedded", "bound", "ready"):
        trace = getattr(made, name).trace(until="lower")
        assert "E2C" in trace["lower"].text
    with pytest.raises(MissingOffsetError, match="Offset 'E2C' not found"):
        made.gradient.trace()
    made.difference(made.c, 2.0, out=made.out, offset_provider=made.tables())
    assert "E2C" in made.difference.trace(until="lower")["lower"].text
