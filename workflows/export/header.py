"""The C header of an exported library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...runtime.language.axes import axis_name
from .program import C_TYPES, DTYPES, Exported, Leaf

TYPES = """\
#ifndef FIELDFORGE_EXPORTED_TYPES
#define FIELDFORGE_EXPORTED_TYPES
#define FIELDFORGE_MAX_RANK 8

/* An array and the indices that it covers. Neighbour tables are int32 fields over (rows, slots). */
typedef struct fieldforge_field {
  void *data; /* the element at the first index of every dimension */
  int32_t dtype;
  int32_t rank;
  int64_t start[FIELDFORGE_MAX_RANK];  /* first index, by dimension */
  int64_t extent[FIELDFORGE_MAX_RANK]; /* number of indices */
  int64_t stride[FIELDFORGE_MAX_RANK]; /* distance of neighbours, in elements */
} fieldforge_field;

enum fieldforge_dtype {
%(dtypes)s
};

enum fieldforge_code {
  FIELDFORGE_OK = 0,
  FIELDFORGE_ARGUMENT = 1,     /* no field, or one of another type or rank */
  FIELDFORGE_DOMAIN = 2,       /* a field is too small */
  FIELDFORGE_LAYOUT = 3,       /* no exported variant fits the strides of the fields */
  FIELDFORGE_NOT_EXPORTED = 4, /* no exported variant has these values of static parameters */
  FIELDFORGE_OVERLAP = 5,      /* a field that is written shares memory with another one */
  FIELDFORGE_TABLE = 6,        /* a neighbour table has another width, or missing entries */
  FIELDFORGE_NOT_FINITE = 7,   /* the program was exported with checks and wrote no finite number */
  FIELDFORGE_BEYOND = 8,       /* a field is read beyond its ends */
  FIELDFORGE_MEMORY = 9        /* there is no memory for temporaries */
};
#endif
"""


def header(library: str, programs: Sequence[Exported]) -> str:
    """Return the text of the header."""
    return "\n".join(_lines(library, programs))


def declaration(library: str, program: Exported) -> str:
    """Return the declaration of a function without the semicolon."""
    given = ", ".join(map(_parameter, program.leaves)) or "void"
    return f"int32_t {library}_{program.name}({given})"


def _lines(library: str, programs: Sequence[Exported]) -> Iterator[str]:
    guard = f"FIELDFORGE_LIBRARY_{library.upper()}"
    dtypes = ",\n".join(
        f"  FIELDFORGE_{name.upper()} = {place}" for place, name in enumerate(DTYPES)
    )
    yield f"/* Programs of library '{library}', written by `fieldforge export`. */"
    yield f"#ifndef {guard}"
    yield f"#define {guard}"
    yield "#include <stdbool.h>"
    yield "#include <stdint.h>"
    yield ""
    yield TYPES % {"dtypes": dtypes}
    yield "#ifdef __cplusplus"
    yield 'extern "C" {'
    yield "#endif"
    yield ""
    yield "/* Each function returns a code; this is the text of the last error of the thread. */"
    yield f"const char *{library}_message(void);"
    yield ""
    yield "/* The threads of a call; by default OMP_NUM_THREADS, or 1. */"
    yield f"void {library}_set_threads(int32_t count);"
    yield ""
    yield "/* Neighbour tables are looked at once: call this after entries have changed. */"
    yield f"void {library}_forget_tables(void);"
    for program in programs:
        yield ""
        yield from _about(program)
        yield f"{declaration(library, program)};"
    yield ""
    yield "#ifdef __cplusplus"
    yield "}"
    yield "#endif"
    yield "#endif"
    yield ""


def _about(program: Exported) -> Iterator[str]:
    yield f"/* {program.about or program.name}"
    for leaf in program.leaves:
        if leaf.dims is not None:
            dims = ", ".join(map(axis_name, leaf.dims))
            kind = "neighbour table" if leaf.is_table else f"field of {leaf.dtype}"
            written = ", written" if leaf.is_written else ""
            yield f"   {leaf.c}: {kind} over ({dims}){written}"
    for name, value in program.fixed.items():
        yield f"   compiled in: {name} = {value}"
    yield "*/"


def _parameter(leaf: Leaf) -> str:
    if leaf.dims is None:
        return f"{C_TYPES[leaf.dtype]} {leaf.c}"
    return f"const fieldforge_field *{leaf.c}"
