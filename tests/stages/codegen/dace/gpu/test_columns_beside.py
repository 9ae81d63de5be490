"""Copies around scans over contiguous levels, as loops."""

from fieldforge.stages.codegen.dace.gpu.beside import TILE, beside
from fieldforge.stages.ir.loops.gpu import marks_of
from fieldforge.stages.ir.loops.nest import Nest
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.traverse import arrays_of, nodes_of

from ...texts import after

SCAN = """\
kernel sum
  dimension I horizontal
  dimension J horizontal
  dimension K vertical
  field a float64 [I, J, K] unit K
  field out float64 [I, J, K] unit K
  group 0 (I: 0 .. n, J: 0 .. l, K: 0 .. m)
  step 0
    nest n0 group 0 states float64 %0  # walks %3, stores out
      reads a (I: 0 .. n, J: 0 .. l, K: 0 .. m)
      %0 float64 constant 0.0
      parallel I: 0 .. n
        parallel J: 0 .. l
          sequential K: 0 .. m
            %1 float64 state 0
            %2 float64 load a[0, 0, 0]
            %3 float64 add %1 %2
            %4 float64 advance 0 %3
            %5 float64 store out %3
"""


def test_a_scan_over_contiguous_levels_has_copies_before_and_after_it() -> None:
    found = read(after(beside, SCAN))
    arrays = [buffer for buffer in found.buffers if buffer.memory == "arena"]

    before, scan, behind = (nest for nest in nodes_of(found, Nest))
    assert [buffer.name for buffer in arrays] == ["@columns0 of a", "@columns1 of out"]
    assert {tuple(dim.value for dim in buffer.order) for buffer in arrays} == {("K", "I", "J")}
    assert [arrays_of(nest) for nest in (before, scan, behind)] == [
        {"a", "@columns0 of a"},
        {"@columns0 of a", "@columns1 of out"},
        {"@columns1 of out", "out"},
    ]
    assert [marks_of(nest).block for nest in (before, scan, behind)] == [TILE, (), TILE]
    flat_levels = SCAN.replace("unit K", "unit I")
    assert after(beside, flat_levels) == flat_levels
