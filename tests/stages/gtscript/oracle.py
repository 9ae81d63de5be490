"""Run stencils by gt4py's backend 'debug': `python oracle.py < cases.json > answers.json`.

It runs in gt4py's own environment and imports nothing of fieldforge. A case has the text of a
module with a stencil `s`, and the arguments of one call; the answer has the fields after it.
"""

import hashlib
import json
import linecache
import sys
import traceback
import warnings

import numpy as np

BACKEND = "debug"


def names_of(text):
    """Run the text of a module with the names of GTScript."""
    from gt4py.cartesian import gtscript

    file = f"<stencil {hashlib.sha256(text.encode()).hexdigest()[:16]}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = {"__name__": f"case_{hashlib.sha256(text.encode()).hexdigest()[:8]}", "np": np}
    exec("from gt4py.cartesian.gtscript import *", names)
    names |= {"enum": gtscript.enum, "GlobalTable": gtscript.GlobalTable}
    exec(compile(text, file, "exec", dont_inherit=True), names)
    return names


def answer(case):
    """Build and call one stencil."""
    from gt4py.cartesian import gtscript

    names = names_of(case["text"])
    options = case.get("options", {})
    if "EXTERNALS" in names:
        options["externals"] = names["EXTERNALS"]
    if "DTYPES" in names:
        options["dtypes"] = names["DTYPES"]
    made = gtscript.stencil(backend=BACKEND, definition=names["s"], rebuild=True, **options)
    info = {
        name: [int(each.access), [list(side) for side in each.boundary], str(each.dtype)]
        for name, each in made.field_info.items()
    }
    found = {
        "fields": info,
        "parameters": {name: int(each.access) for name, each in made.parameter_info.items()},
        "levels": made.domain_info.min_sequential_axis_size,
    }
    if "domain" not in case:
        return found
    arguments = {
        name: np.array(each["values"], dtype=each["dtype"]).reshape(each["shape"])
        for name, each in case["arrays"].items()
    }
    origin = {name: tuple(each) for name, each in case["origin"].items()}
    scalars = {
        name: np.dtype(dtype).type(value) for name, (dtype, value) in case["scalars"].items()
    }
    with np.errstate(all="ignore"):
        made(**arguments, **scalars, domain=tuple(case["domain"]), origin=origin)
    found["outputs"] = {
        name: [each.ravel().tolist(), str(each.dtype)]
        for name, each in arguments.items()
        if info[name][0] & 2
    }
    return found


def with_parentheses():
    """Put parentheses around ternaries, which 'debug' forgets: `a - (b if c else d)`."""
    from gt4py.cartesian.gtc.debug import debug_codegen

    written = debug_codegen.DebugCodeGen.visit_TernaryOp

    def visit(self, node, **rest):
        return f"( {written(self, node, **rest)} )"

    debug_codegen.DebugCodeGen.visit_TernaryOp = visit


def plane_by_plane():
    """Let sweeps go plane by plane, as GTScript means them and 'numpy' does.

    'debug' takes statements of different extents one after the other, each through all levels. At
    levels that a value bounds it still does.
    """
    from gt4py.cartesian.gtc.common import LoopOrder, RuntimeAxisBound
    from gt4py.cartesian.gtc.debug import debug_codegen

    def generate(self, stencil, block_extents, symtable):
        for loop in stencil.vertical_loops:
            for section in loop.sections:
                bounds = section.interval.start, section.interval.end
                of_call = any(isinstance(each, RuntimeAxisBound) for each in bounds)
                if of_call or loop.loop_order == LoopOrder.PARALLEL:
                    for execution in section.horizontal_executions:
                        with (
                            self.generate_ij_loop(block_extents, execution),
                            self.create_k_loop_code(section, loop, symtable=symtable),
                        ):
                            self.visit(execution, symtable=symtable)
                    continue
                with self.create_k_loop_code(section, loop, symtable=symtable):
                    for execution in section.horizontal_executions:
                        with self.generate_ij_loop(block_extents, execution):
                            self.visit(execution, symtable=symtable)

    debug_codegen.DebugCodeGen.generate_stencil_code = generate


def zeros_for_temporaries():
    """Begin temporaries with zeros: where a text reads them too early, any value is right."""
    from gt4py.cartesian.utils.field import Field

    def zeros(cls, shape, dtype, offset, dims):
        return cls(np.zeros(shape, dtype=dtype), offset, dims)

    Field.empty = classmethod(zeros)


def main():
    """Answer all cases of the standard input."""
    warnings.simplefilter("ignore")
    with_parentheses()
    plane_by_plane()
    zeros_for_temporaries()
    answers = []
    for case in json.load(sys.stdin):
        try:
            answers.append(answer(case))
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            answers.append(
                {
                    "error": type(error).__name__,
                    "bases": [each.__name__ for each in type(error).__mro__],
                    "message": str(error)[:300],
                    "where": f"{where.filename}:{where.lineno}",
                }
            )
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
