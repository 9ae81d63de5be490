"""Take kernels and their launches out of DaCe's text for GPUs, and make them run on our streams.

DaCe's text keeps streams and errors in a state that all calls share, and begins a program with
calls of the vendor that change the device of the process. Of it only kernels, their functions and
launches are kept: a launch takes the stream of its call, and slices of grids that are larger than
vendors allow along y and z. Nothing stands in a nameless namespace, for which nvcc makes up a name
that differs from build to build.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from ....vendors.vendor import Vendor
from ..settings import DaceTextError
from .opening import launched

_KERNEL: Final = re.compile(
    r"__global__ void\s+(?P<bounds>[^(]*\([^)]*\)\s+)*?(?P<name>\w+)\((?P<takes>[^)]*)\) \{"
)
_LAUNCH: Final = re.compile(
    r"gpuError_t __err = (?:cuda|hip)LaunchKernel\(\(void\*\)(?P<name>\w+), dim3\((?P<grid>.*)\), "
    r"dim3\((?P<block>.*)\), \w+_args, (?P<shared>\w+), nullptr\);"
)
_BLOCK_INDEX: Final = re.compile(r"\bblockIdx\.([yz])\b")
_SKIPPED: Final = ("__dace_init_", "__dace_exit_", "__dace_gpu_", "__program_kernel(")
_BEGIN: Final = re.compile(r"(?:DACE_DFI|__global__|DACE_EXPORTED|void|int|bool) ")


def gpu_text(frame: str, device: str, symbols: Collection[str], vendor: Vendor) -> str:
    """Return what is kept of DaCe's two texts, that for the host and that for the device.

    `symbols` are 64-bit integers, which DaCe declares as 'int' where only strides contain them.

    Raises:
        DaceTextError: if a part has an unknown form.

    """
    functions, kernels, launches, programs = [], [], [], []
    for part in (*_definitions(device), *_definitions(frame)):
        whole = _with_wide_symbols(part, symbols)
        if whole.startswith("DACE_DFI"):
            functions.append(whole)
        elif whole.startswith("__global__"):
            kernels.append(_kernel(whole, vendor))
        elif whole.startswith("void __dace_runkernel_"):
            launches.append(_launch(whole, vendor))
        elif whole.startswith("void __program_"):
            programs.append(f"static {whole}")
        else:
            raise DaceTextError(
                f"The code of this version of DaCe has an unknown part: '{whole.splitlines()[0]}'.",
                hint="Install the version of DaCe that fieldforge was tested with: 2.0.0b1.",
            )
    if len(programs) != 1 or len(kernels) != len(launches):
        raise DaceTextError("The code of this version of DaCe does not have one program.")
    return "\n\n".join([*functions, *kernels, *launches, *programs])


def _definitions(text: str) -> Iterator[str]:
    """Yield the functions that are kept; those begin in the first column, and end there."""
    lines = iter(text.splitlines())
    for line in lines:
        if not _BEGIN.match(line) or line.rstrip().endswith(";"):
            continue
        part = [line.rstrip()]
        for more in lines:
            part.append(more.rstrip())
            if more.rstrip() == "}":
                break
        if not any(name in line for name in _SKIPPED):
            yield "\n".join(each for each in part if each)


def _with_wide_symbols(part: str, symbols: Collection[str]) -> str:
    head, _, body = part.partition("\n")
    wide = re.sub(
        r"\bint (\w+)",
        lambda found: f"int64_t {found[1]}" if found[1] in symbols else found[0],
        head,
    )
    return f"{wide}\n{body}"


def _kernel(part: str, vendor: Vendor) -> str:
    """Return a kernel that takes the first block of its slice of the grid."""
    found = _KERNEL.match(part)
    if found is None:
        raise DaceTextError(f"DaCe wrote a kernel of an unknown form: '{part.splitlines()[0]}'.")
    takes = [each for each in found["takes"].split(", ") if each]
    head = part[: found.start("takes")] + ", ".join([*takes, "s64 first_y", "s64 first_z"]) + ") {"
    body = _BLOCK_INDEX.sub(r"(s64(blockIdx.\1) + first_\1)", part[found.end() :])
    return head + body + (f"\n{_on_host(found['name'], takes)}" if vendor.in_turn else "")


def _on_host(name: str, takes: Sequence[str]) -> str:
    """Return the function that gives a thread its arguments."""
    types = [each.rpartition(" ")[0] + "*" * each.rpartition(" ")[2].count("*") for each in takes]
    values = [f"*({each}*)args[{i}]" for i, each in enumerate([*types, "s64", "s64"])]
    return f"static void thread_of_{name}(void** args) {{\n  {name}({', '.join(values)});\n}}"


def _launch(part: str, vendor: Vendor) -> str:
    """Return the function that launches a kernel, on the stream of the call."""
    lines = []
    for line in part.splitlines():
        if found := _LAUNCH.search(line):
            kernel = launched(vendor, found["name"])
            lines.append(
                f"    launch(__state, {kernel}, Blocks{{{found['grid']}}}, dim3({found['block']}), "
                f"{found['name']}_args, {found['shared']}, first_y, first_z);"
            )
        elif "_args[] = {" in line:
            lines.append("    s64 first_y = 0, first_z = 0;")
            inner = line.rstrip().removesuffix("};").rstrip()
            comma = "" if inner.endswith("{") else ","
            lines.append(f"{inner}{comma} (void*)&first_y, (void*)&first_z }};")
        elif "DACE_KERNEL_LAUNCH_CHECK" not in line:
            lines.append(line)
    whole = "\n".join(lines)
    if whole.count("launch(__state") != 1 or "nullptr" in whole:
        raise DaceTextError(f"DaCe wrote a launch of an unknown form: '{part.splitlines()[0]}'.")
    return "static " + whole
