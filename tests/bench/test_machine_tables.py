"""Pages and the summary of machines are made from their files of results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from machine_tables import gpu, overview, starts
from machine_tables.pages import Machine, pages, sections


def machine(folder: Path, **parts: Any) -> Machine:
    for name, document in parts.items():
        (folder / f"{name}.json").write_text(json.dumps(document))
    return Machine(folder)


def times(**least: float) -> dict[str, dict[str, float]]:
    return {name: {"least": each, "median": 2 * each} for name, each in least.items()}


def test_a_machine_without_results_has_neither_cells_nor_sections(tmp_path):
    bare = Machine(tmp_path)

    assert {cell(bare) for _, _, cell in overview.ROWS} == {"–"}
    assert list(sections(bare)) == []


def test_the_name_of_a_machine_is_that_of_its_gpu_or_processor(tmp_path):
    host = {"processor": "2 x Abacus(R) Processor"}
    (tmp_path / "gpu").mkdir()

    assert machine(tmp_path, brief={"machine": host}).name == "2 x Abacus"
    card = host | {"device": "NVIDIA X1"}
    assert machine(tmp_path / "gpu", untuned={"machine": card}).name == "X1"


def test_cells_are_geometric_means_with_their_range(tmp_path):
    rows = [{"times": times(cold=0.1)}, {"times": times(cold=0.4)}, {"times": {}}]

    assert overview.first("cold")(machine(tmp_path, first={"rows": rows})) == "200 (100 to 400)"


def test_tools_count_on_the_most_threads_only(tmp_path):
    rows = [
        {"threads": count, "dtype": "float64", "times": times(fieldforge=1.0, JAX=ratio)}
        for count, ratio in ((1, 50.0), (2, 3.0))
    ]

    assert overview.tool("JAX")(machine(tmp_path, brief={"rows": rows})) == "3.0, –"


def test_gt4py_on_a_gpu_counts_by_its_better_backend(tmp_path):
    rows = [
        {"case": "nabla2", "by": by, "ms": ms, "returns_us": 1.0, "first_call_s": 0.5}
        for by, ms in (
            ("fieldforge", 9.0), ("fieldforge, levels contiguous", 2.0), ("gtfn_gpu", 8.0),
            ("dace_gpu", 6.0),
        )
    ]  # fmt: skip
    rows.append({"case": "nabla2", "by": "dace_gpu, unit stride", "refused": "no"})

    assert overview.peer_on_gpu(machine(tmp_path, gpu_peer={"rows": rows})) == "3.0"
    assert "| nabla2 | dace_gpu | 6.000 | 3.00 | 1 | 0.5 |" in list(gpu.peer_section(rows))


def test_stencils_of_gtscript_count_by_the_best_backend_of_each_tool(tmp_path):
    rows = {
        "many fieldforge gt:cpu_ifirst": {"seconds": 100.0, "stencils": 100},
        "many gt4py dace:cpu": {"seconds": 80.0, "stencils": 2},
        "many gt4py gt:cpu_kfirst": None,
        "kernels fieldforge gt:cpu_kfirst": {"copy": 1.0, "upwind": 2.0},
        "kernels fieldforge gt:cpu_ifirst": {"copy": 4.0, "upwind": 1.0},
        "kernels gt4py dace:cpu": {"copy": 4.0, "upwind": 1.0},
    }

    found = machine(tmp_path, gtscript={"rows": rows})

    assert overview.gtscript("many")(found) == "40"
    assert overview.gtscript("kernels")(found) == "2.00 (1.00 to 4.00)"
    assert "| many: seconds | 1 s (gt:cpu_ifirst) | 40 s (dace:cpu) | 40 |" in list(
        starts.gtscript_section({"rows": rows})
    )


def test_the_table_of_first_results_says_why_a_tool_is_missing():
    least = {"least": 0.1, "median": 0.2}
    row = {
        "program": "nabla2", "size": "80", "taken": "2026-01-01", "load": 0.5, "start": least,
        "numpy": least, "times": {"cold": least}, "refused": {"Numba, cold": "No module 'numba'"},
    }  # fmt: skip

    lines = list(starts.first_section({"rows": [row]}))

    assert "| nabla2 80 | 100, 200 | 100, 200 | 100, 200 | – | – | – | – | – | – |" in lines
    assert "* Numba, cold: No module 'numba'" in lines


@pytest.mark.parametrize("text", pages().values(), ids=pages())
def test_tables_of_pages_have_as_many_cells_in_each_row(text):
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line.startswith("|")]
        assert len({line.count(" | ") for line in lines if "---" not in line}) <= 1, lines[:3]
