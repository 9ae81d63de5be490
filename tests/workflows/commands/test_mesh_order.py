"""What 'fieldforge doctor --mesh' says: distances that are right, and an order that is nearer."""

import numpy as np
import pytest
from click.testing import CliRunner

import fieldforge as ff
from fieldforge.examples.icosahedral import icosahedral
from fieldforge.runtime.process.errors import InputDataError
from fieldforge.workflows.commands import mesh_order
from fieldforge.workflows.commands.cli import main


@pytest.fixture
def doctor():
    def run(where):
        return CliRunner().invoke(main, ["doctor", "--mesh", str(where)])

    return run


def by_hand(table, count):
    """Row by row, entry by entry."""
    apart = [
        abs(int(entry) - row * count / len(table))
        for row, entries in enumerate(table)
        for entry in entries
        if entry >= 0
    ]
    return sum(apart) / len(apart)


def test_distances_are_those_counted_one_by_one():
    mesh = icosahedral(2, 1, "shuffled")
    counts = {"C": mesh.cells, "E": mesh.edges, "V": mesh.vertices}

    found = mesh_order.nearness(mesh.tables)

    assert [each.table for each in found] == list(mesh.tables)
    for each in found:
        kind = each.table.rstrip("O")[-1]
        assert each.now == pytest.approx(by_hand(mesh.tables[each.table], counts[kind]))


def test_the_promised_distance_is_that_of_the_mesh_in_the_promised_order():
    mesh = icosahedral(2, 2, "shuffled")
    tables = {name: mesh.tables[name] for name in ("E2V", "V2E", "C2E2CO", "C2E")}
    kinds = {"E2V": ("E", "V"), "V2E": ("V", "E"), "C2E2CO": ("C", "C"), "C2E": ("C", "E")}
    counts = {"E": mesh.edges, "V": mesh.vertices, "C": mesh.cells}

    places = mesh_order.reverse_cuthill_mckee(tables, kinds, counts)

    for each in mesh_order.nearness(tables):
        rows, entries = kinds[each.table]
        moved = np.empty_like(tables[each.table])
        old = tables[each.table]
        moved[places[rows]] = np.where(old < 0, -1, places[entries][old])
        assert np.array_equal(np.sort(places[rows]), np.arange(counts[rows]))
        assert each.reordered == pytest.approx(by_hand(moved, counts[entries]))


def test_a_shuffled_mesh_is_advised_to_be_renumbered_and_an_ordered_one_is_not():
    shuffled, ordered = (
        mesh_order.nearness(icosahedral(3, 2, order).tables)
        for order in ("shuffled", "breadth-first")
    )

    assert "times nearer" in mesh_order.advice(shuffled)
    assert all(each.reordered < each.now / 3 for each in shuffled)
    assert "the order is good" in mesh_order.advice(ordered)


def test_doctor_prints_a_row_for_each_table_of_a_level(doctor):
    done = doctor("R2B1")

    assert done.exit_code == 0
    for name in icosahedral(1, 0).tables:
        assert f" {name} " in done.output
    assert "Distances are in elements." in done.output


def test_doctor_reads_the_tables_of_a_file(doctor, tmp_path):
    file = tmp_path / "mesh.npz"
    ring = np.stack([np.arange(-1, 9) % 10, np.arange(1, 11) % 10], axis=1)
    np.savez(file, Node2Node=ring)

    done = doctor(file)

    assert done.exit_code == 0
    assert done.output.split("Node2Node")[1].split("│")[1:4] == [
        " 10   ", " 2    ", " 1.8           "
    ]  # fmt: skip


def test_doctor_reads_a_ugrid_file_and_names_what_applies_its_order(doctor, tmp_path):
    pytest.importorskip("netCDF4", reason="the extra 'xarray' is not installed")
    pytest.importorskip("xarray", reason="the extra 'xarray' is not installed")
    shuffled = icosahedral(3, 2, "shuffled").tables
    mesh = ff.Mesh({name: shuffled[name] for name in ("C2V", "E2V")})
    mesh.to_xarray().to_netcdf(tmp_path / "mesh.nc")

    done = doctor(tmp_path / "mesh.nc")

    assert done.exit_code == 0
    assert " C2V " in done.output
    assert "'Mesh.reordered', would bring them" in done.output


def test_without_scipy_doctor_says_what_to_install(doctor, monkeypatch):
    monkeypatch.setattr(mesh_order, "has_scipy", lambda: False)

    done = doctor("R1B1")

    assert done.exit_code == 0
    assert "Install 'scipy'" in done.output


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"C2E": np.zeros((2, 3))}, "Expected integers in rows and columns in table 'C2E'"),
        ({"C2E": np.zeros(3, int)}, "got int64 of shape (3,)"),
        ({"edges": np.zeros((2, 3), int)}, "'edges' has a name that does not tell its kinds"),
        (
            {"C2E": np.full((2, 3), 4), "E2C": np.zeros((4, 2), int)},
            "element 4 of 'E', which has 4",
        ),
        ({"C2E": np.zeros((2, 3), int), "C2V": np.zeros((3, 3), int)}, "another of 'C' has 2"),
    ],
)
def test_tables_that_cannot_be_are_refused_in_a_sentence(tables, words):
    with pytest.raises(InputDataError) as caught:
        mesh_order.nearness(tables)

    assert words in str(caught.value)


@pytest.mark.parametrize("content", [None, b"not a zip file"])
def test_what_is_no_mesh_file_is_refused_without_a_traceback(doctor, tmp_path, content):
    file = tmp_path / "mesh.npz"
    if content is not None:
        file.write_bytes(content)

    done = doctor(file)

    assert done.exit_code == 1
    assert done.output.startswith("Error: ")
    assert "Traceback" not in done.output
