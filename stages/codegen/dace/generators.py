"""Run DaCe's code generators on an SDFG: a program is one function, without DaCe's headers.

DaCe's frame lets subclasses write what stands before and after the program. Targets are made for
one SDFG and registered nowhere, so that other users of DaCe in the process keep theirs.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from dace.codegen.codeobject import CodeObject
from dace.codegen.common import codeblock_to_cpp
from dace.codegen.targets.cpu import CPUCodeGen
from dace.codegen.targets.framecode import DaCeCodeGenerator
from dace.sdfg import infer_types
from dace.transformation.pass_pipeline import FixedPointPipeline
from dace.transformation.passes.insert_explicit_copies import InsertExplicitCopies
from dace.transformation.passes.relax_integer_powers import RelaxIntegerPowers
from dace.transformation.passes.simplification.control_flow_raising import ControlFlowRaising

from ....runtime.process import classes


@classes.frozen
class Written:
    """The code of a program, and the names of its arguments in order."""

    code: str
    arguments: tuple[str, ...]


class Frame(DaCeCodeGenerator):  # type: ignore[misc]  # DaCe has no types
    """Writes a program as the function `__program_..._internal`, which keeps nothing."""

    def generate_header(self, sdfg: Any, global_stream: Any, _: Any) -> None:
        """Write what stands before all functions: constants, and the code that passes add."""
        self.generate_constants(sdfg, global_stream)
        for each in sdfg.all_sdfgs_recursive():
            for place in (None, "frame"):
                if place in each.global_code:
                    global_stream.write(codeblock_to_cpp(each.global_code[place]))

    def generate_footer(self, _: Any, __: Any, callsite_stream: Any) -> None:
        """End the program; there is no state to make and to free."""
        callsite_stream.write("}")

    def write(self, sdfg: Any, *targets: Any) -> tuple[str, str]:
        """Return the functions that the program calls, and the program.

        Maps that DaCe is to instrument are written without.
        """
        self.dispatcher.instrumentation = defaultdict(lambda: None)
        for target in targets:
            target.preprocess(sdfg)
        functions, program, *_ = self.generate_code(sdfg, None)
        return plain(functions), plain(program)


def frame_of(sdfg: Any) -> Frame:
    """Do what DaCe does before it writes code, and return the frame for which targets are made.

    That is: raise control flow, infer types, lower copies and library nodes.
    """
    raising, copies = FixedPointPipeline([ControlFlowRaising()]), InsertExplicitCopies()
    for lower in (raising.apply_pass, copies.apply_pass, lambda *_: sdfg.expand_library_nodes()):
        lower(sdfg, {})
        infer_types.infer_connector_types(sdfg)
        infer_types.set_default_schedule_and_storage_types(sdfg, None)
    RelaxIntegerPowers().apply_pass(sdfg, {})
    return Frame(sdfg)


def plain(code: str) -> str:
    """Return code without the remarks by which DaCe's tools find its nodes."""
    return str(CodeObject("code", code, "cpp", CPUCodeGen, "code").clean_code)
