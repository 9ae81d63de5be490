"""What `make bench` writes down: nothing left out, nothing that computes something else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyperf")


def row(**changes: Any) -> dict[str, Any]:
    times = {
        "fieldforge": 2e-3,
        "by hand: plain": 3e-3,
        "by hand: tiled": 1e-3,
        "NumPy": 0.1,
        "gt4py DaCe, memory kept: C order": 8e-3,
        "gt4py DaCe, memory kept: own layout": 4e-3,
    }
    found = {name: {"least": t, "median": 2 * t, "values": 3} for name, t in times.items()}
    return {
        "program": "nabla", "size": "9k edges", "dtype": "float64", "threads": 2,
        "taken": "2026-01-01", "load": 0.5,
        "moved": 1_000_000, "operations": 1_000_000, "times": found, "built": {"fieldforge": 0.5},
        "temporary": {"fieldforge": 0}, "refused": {"gt4py C++": "GridToolsError: no skip values"},
    } | changes  # fmt: skip


def document(*rows: dict[str, Any]) -> dict[str, Any]:
    roof = {"bytes": 1e9, "operations": {"float64": 1e12, "float32": 2e12}}
    return {"machine": {"processor": "1 x Abacus"}, "roofs": {"2": roof}, "rows": list(rows)}


def section(given: dict[str, Any]) -> str:
    from machine_tables import programs

    return "\n".join(programs.section(given))


def test_a_variant_that_was_refused_stands_on_the_page_with_its_reason():
    text = section(document(row()))
    assert "* gt4py C++: GridToolsError: no skip values (nabla 9k edges float64)" in text


def test_a_program_without_a_kernel_by_hand_is_named():
    bare = row(times={"fieldforge": row()["times"]["fieldforge"]})
    assert "by hand: no kernel is written (nabla 9k edges float64)" in section(document(bare))


def test_ratios_are_to_the_fastest_of_the_variants_by_hand():
    import figures

    assert figures.best_by_hand(row()) == ("tiled", 1e-3)
    assert figures.over_ours(row(), 1e-3) == 0.5


def test_dace_at_its_best_is_the_faster_of_its_layouts():
    import figures

    assert figures.rival(row(), "best") == 4e-3


def test_the_roof_is_the_lower_of_bandwidth_and_arithmetic():
    import figures

    roofs = document()["roofs"]
    assert figures.share_of_roof(row(), roofs, 2e-3) == pytest.approx(0.5)  # 1 MB at 1 GB/s
    busy = row(operations=1_500_000_000)
    assert figures.share_of_roof(busy, roofs, 2e-3) == pytest.approx(0.75)


def test_the_row_of_a_program_has_the_best_kernel_by_hand():
    assert "| nabla | 9k edges | 2 | 1 | tiled | 0.50 |" in section(document(row()))


def test_a_page_keeps_what_stands_around_its_table(tmp_path: Path):
    import page

    path = tmp_path / "page.md"
    path.write_text("before\n<!-- a -->\nstale\n<!-- b -->\nafter\n")
    page.replace("fresh", path, "<!-- a -->", "<!-- b -->")
    assert path.read_text() == "before\n<!-- a -->\n\nfresh\n<!-- b -->\nafter\n"


def test_a_page_without_the_markers_is_refused(tmp_path: Path):
    import page

    path = tmp_path / "page.md"
    path.write_text("nothing")
    with pytest.raises(ValueError, match="no place for the figures"):
        page.replace("fresh", path, page.BEGIN, page.END)


def test_a_row_measured_again_takes_the_place_of_the_old_one(tmp_path: Path):
    from results import Results

    kept = Results(tmp_path / "programs.json", fresh=True)
    kept.add(row())
    kept.add(row(threads=1))
    kept.add(row(taken="2026-02-02"))
    again = Results(tmp_path / "programs.json", fresh=False)
    assert [(r["threads"], r["taken"]) for r in again.rows] == [
        (2, "2026-02-02"),
        (1, "2026-01-01"),
    ]


def test_rows_of_a_gpu_have_a_key_of_their_own(tmp_path: Path):
    from results import Results

    key = ("case", "dtype")
    kept = Results(tmp_path / "gpu.json", fresh=True, key=key)
    kept.add({"copy_gb_s": 1.0})
    for ms in (3.0, 2.0):
        kept.add({"case": "nabla2", "dtype": "float64", "ms": ms})

    again = Results(tmp_path / "gpu.json", fresh=False, key=key)
    assert [row.get("ms") for row in again.rows] == [None, 2.0]


def test_a_run_that_ends_before_its_first_row_leaves_the_file_as_it_was(tmp_path: Path):
    from results import Results

    path = tmp_path / "programs.json"
    Results(path, fresh=True).add(row())
    before = path.read_text()
    Results(path, fresh=True).describe(machine={"processor": "another"})
    assert path.read_text() == before


def test_results_that_differ_by_more_than_rounding_do_not_agree():
    from agreement import compared

    ours = {"out-0": np.linspace(1.0, 2.0, 5)}
    assert compared(ours, {"out-0": ours["out-0"].copy()}, "float64") == (True, "same bits")
    assert compared(ours, {"out-0": ours["out-0"] + 1e-14}, "float64")[0]
    assert not compared(ours, {"out-0": ours["out-0"] + 1e-6}, "float64")[0]
    assert not compared(ours, {"out-0": ours["out-0"][1:]}, "float64")[0]
    assert not compared(ours, {"out-0": np.full(5, np.nan)}, "float64")[0]


def test_variants_are_timed_in_turns():
    from timing import Effort, in_turns

    asked: list[str] = []

    def takes(name: str) -> Callable[[int], float]:
        def time_calls(loops: int) -> float:
            asked.append(name)
            return 1e-2 * loops

        return time_calls

    effort = Effort(rounds=4, value=0.02)
    found = in_turns({"a": takes("a"), "b": takes("b")}, effort, lambda *_: None)
    assert asked == ["a", "a", "b", "b", *["a", "b"] * 3]  # the first round chooses the loops too
    assert found["a"].get_values() == (1e-2,) * 4


def test_a_variant_out_of_seconds_rests_after_three_rounds():
    from timing import Effort, in_turns

    effort = Effort(rounds=5, share=0.0)
    found = in_turns({"slow": lambda loops: 1.0 * loops}, effort, lambda *_: None)
    assert found["slow"].get_nvalue() == 3


def test_a_case_is_chosen_by_module_or_function(monkeypatch: pytest.MonkeyPatch):
    import cases

    known = {"diffusion.high": None, "diffusion.flat": None, "mesh.nabla2": None}
    monkeypatch.setattr(cases, "all_cases", lambda: known)
    assert list(cases.chosen_cases(["diffusion"])) == ["diffusion.high", "diffusion.flat"]
    assert list(cases.chosen_cases(["flat", "mesh.nabla2"])) == ["diffusion.flat", "mesh.nabla2"]
    assert cases.chosen_cases([]) == known
    with pytest.raises(KeyError, match=r"No case is called nabla3; there are diffusion\.high"):
        cases.chosen_cases(["nabla3"])


def test_a_variant_that_gives_up_has_no_times_and_the_others_go_on():
    from timing import Effort, GaveUpError, in_turns

    def gives_up(loops: int) -> float:
        raise GaveUpError

    variants = {"broken": gives_up, "sound": lambda loops: 1.0 * loops}
    found = in_turns(variants, Effort(rounds=2), lambda *_: None)
    assert list(found) == ["sound"]
    assert found["sound"].get_nvalue() == 2


def test_a_program_that_we_cannot_build_has_a_row_with_the_reason():
    lost = row(times={}, refused={"fieldforge": "LoweringError: too deep"})
    text = section(document(lost))
    assert "| nabla | 9k edges | – | – |" in text
    assert "* fieldforge: LoweringError: too deep (nabla 9k edges float64)" in text


def test_global_numbers_are_written_out_for_the_peer():
    from peer import alias

    source = "A, B = 1.0, 2\nC = A / B\ncast(wpfloat(-C), wpfloat(x), other(A))"
    expected = "A, B = 1.0, 2\nC = A / B\ncast(wpfloat(-0.5), wpfloat(x), other(A))"
    assert alias.with_numbers(source) == expected


def test_the_table_of_a_machine_has_tools_beside_ours_and_names_what_is_slow():
    from machine_tables import tools

    rows = [row(threads=count) for count in (1, 2)]
    rows[0]["times"] |= {"Numba": {"least": 6e-3, "median": 7e-3, "values": 3}}
    text = "\n".join(tools.section(document(*rows)))
    assert "| nabla 9k edges | float64 | 0.50 / 0.50 | 0.50 / 0.50 | 2 |" in text
    assert "| *mean* | float64 | 0.50 / 0.50 | 0.50 / 0.50 |  |" in text
    assert "Below 0.85 by least times and by medians:\n\n* nabla 9k edges float64: 0.50" in text
    assert "| nabla 9k edges | float64 | 3.00 | – |" in text


def test_a_tool_whose_threads_are_its_processors_has_a_process_for_each_number():
    from others import client

    assert client.processes("Numba", (1, 2, 16)) == {16: (1, 2, 16)}
    assert client.processes("JAX", (1, 16)) == {1: (1,), 16: (16,)}


def test_rows_of_other_tools_lie_on_lines_and_keep_their_values():
    from others import arrays

    given = np.random.default_rng(0).random((3, 4, 21)).astype(np.float32)
    placed = arrays.on_lines(given, halo=2)
    assert np.array_equal(placed, given)
    inner = [placed[k, j, 2:].ctypes.data % arrays.LINE for k in range(3) for j in range(4)]
    assert set(inner) == {0}


def test_an_environment_that_is_missing_is_a_reason(monkeypatch, tmp_path):
    from others import client
    from peer.client import RefusedError

    monkeypatch.setenv("OTHERS_PYTHON", str(tmp_path / "none"))
    with pytest.raises(RefusedError, match="no environment"):
        client.started("Numba", tmp_path, 1)


def test_upwind_by_hand_and_in_numpy_are_the_program():
    from agreement import compared, flat
    from cases.upwind import upwind

    import fieldforge as ff

    case = upwind("float64", 0.1)
    case.program.with_backend(ff.cpu)(**case.arguments)
    expected = flat(case.arguments, case.outputs)
    for call in (case.in_numpy, *case.by_hand.values()):
        assert compared(expected, flat(call(), case.outputs), case.dtype)[0]
