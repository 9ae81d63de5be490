"""Measure the cost of a call through nanobind: of the C entry with arrays, and of an empty one.

For each number of fields two functions: `arrays_<n>` takes fields as `nb::ndarray` and calls an
empty C function with the words of our entry point, as bindings of generated code do; `nothing_<n>`
takes objects and does nothing, the floor of any call.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sysconfig
from pathlib import Path
from types import ModuleType

import nanobind
from call_programs import COUNTS, SCALARS

HEAD = """
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <cstdint>
namespace nb = nanobind;
using namespace nb::literals;
using Line = nb::ndarray<double, nb::ndim<1>>;
extern "C" int32_t entry(const void* const*, const int64_t*, const void*, void*, void*);
NB_MODULE(nanobind_calls, m) {
"""
ENTRY = """
extern "C" int entry(const void* const*, const long*, const void*, void*, void*) { return 0; }
"""


def build(folder: Path) -> ModuleType:
    """Compile and import the module."""
    home = Path(nanobind.__file__).parent
    source, empty = folder / "nanobind_calls.cpp", folder / "empty.cpp"
    source.write_text(HEAD + "".join(map(_functions, COUNTS)) + "}\n")
    empty.write_text(ENTRY)
    target = folder / f"nanobind_calls{sysconfig.get_config_var('EXT_SUFFIX')}"
    includes = [sysconfig.get_path("include"), home / "include", home / "ext/robin_map/include"]
    command = ["c++", "-std=c++17", "-O3", "-DNDEBUG", "-fPIC", "-shared", "-fvisibility=hidden"]
    command += ["-fno-strict-aliasing", *(f"-I{folder}" for folder in includes)]
    sources = [str(source), str(empty), str(home / "src/nb_combined.cpp")]
    subprocess.run([*command, *sources, "-o", str(target)], check=True)
    spec = importlib.util.spec_from_file_location("nanobind_calls", target)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _functions(count: int) -> str:
    names = [f"f{n}" for n in range(count)]
    keywords = ", ".join(f'"{name}"_a' for name in (*names, *SCALARS))
    numbers = "double factor, int32_t low, int32_t high"
    arrays, handles = (", ".join(f"{kind} {n}" for n in names) for kind in ("Line", "nb::handle"))
    pointers = ", ".join(f"{name}.data()" for name in names)
    strides = ", ".join(f"{name}.stride(0)" for name in names)
    return f"""
  m.def("arrays_{count}", []({arrays}, {numbers}) {{
    const void* ptrs[] = {{{pointers}}};
    const int64_t ints[] = {{{strides}, low, high}};
    entry(ptrs, ints, &factor, nullptr, nullptr);
  }}, {keywords});
  m.def("nothing_{count}", []({handles}, {numbers}) {{}}, {keywords});
"""
