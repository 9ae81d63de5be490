"""The signature of the entry point as C++ text: every code generator writes its head here.

`runtime/calls/plan.py` defines the arguments, `runtime/native/context.h` the type of `context`.
Code that does not use the context leaves it without name and type.
"""

from __future__ import annotations

from typing import Final

from ...runtime.calls.plan import ENTRY

# The layout of `runtime/native/context.h`, which a test compares.
CONTEXT: Final = """\
struct Machine {
  s64 cores, core_memory, shared_cache, bandwidth, stream_from, parallel_from;
};
struct Context {
  u32 version, size;
  s32 device_type, device_id;
  void* stream;
  void (*parallel_for)(void* pool, s64 count, s64 most, s64 points,
                       void (*body)(void* data, s64 begin, s64 end, s64 place), void* data);
  void* pool;
  const Machine* machine;
  s32* status;
  s64 (*threads)(void* pool);
};"""


def entry_head(name: str = ENTRY, context: str = "") -> tuple[str, ...]:
    r"""Return the lines that begin the entry point, up to the brace of its body.

    `context` names the last argument; the source must begin with `CONTEXT` then.

    >>> print(*entry_head("run", "context"), sep="\n")
    extern "C" s32 run(const void* const* ptrs, const s64* ints, const void* scalars,
                                 void* arena, const Context* context) {
    """
    last = f"const Context* {context}" if context else "void*"
    return (
        f'extern "C" s32 {name}(const void* const* ptrs, const s64* ints, const void* scalars,',
        f"                             void* arena, {last}) {{",
    )


# Types and names of the parameters but the last, for functions that the entry point calls.
PARAMETERS: Final = (
    ("const void* const* ", "ptrs"),
    ("const s64* ", "ints"),
    ("const void* ", "scalars"),
    ("void* ", "arena"),
)
UNUSED: Final = "  (void)ptrs, (void)ints, (void)scalars, (void)arena;"
