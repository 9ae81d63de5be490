"""Kernels without groups: nests one after the other, whatever platforms decided."""

from fieldforge.stages.codegen.dace.rare import ungrouped
from fieldforge.stages.ir.loops.kernel import Choice, Seq
from fieldforge.stages.ir.loops.nest import Nest
from fieldforge.stages.ir.loops.traverse import nodes_of, walk
from fieldforge.stages.ir.loops.verify import verify

from .kernels import kernels


def test_kernels_without_arrays_of_tiles_are_nests_without_marks() -> None:
    groups = 0
    for name, kernel in kernels():
        if any(buffer.memory == "tile" for buffer in kernel.buffers):
            continue
        made = ungrouped(kernel)
        below = [node for step in verify(made).steps for node in walk(step.body)]
        assert {type(node) for node in below} <= {Nest, Seq}, name
        assert all(nest.marks is None for nest in nodes_of(made, Nest)), name
        assert not any(isinstance(each, Seq) for node in below if isinstance(node, Seq)
                       for each in node.steps), name  # fmt: skip
        groups += any(nodes_of(kernel, Choice))
    assert groups > 5
