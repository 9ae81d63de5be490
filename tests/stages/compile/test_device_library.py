"""The compilers of vendors as a stage; scripts that call the C++ compiler stand in for them."""

import json
import shutil
from pathlib import Path

import attrs
import pytest

from fieldforge.runtime.process.settings import current
from fieldforge.stages.artifacts import Generated
from fieldforge.stages.compile.device_library import CompileLibrary
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.stages.vendors.known import vendor_of

COMPILER = shutil.which("c++") or shutil.which("g++")
HIPCC = """\
#!/bin/sh
case "$1" in --version) echo "hipcc of the test 1.0"; exit 0;; -print*) exit 0;; esac
[ "$1 $2" = "-x hip" ] && shift 2
exec {compiler} -x c++ "$@"
"""
NVCC = """\
#!/bin/sh
case "$1" in --version) echo "nvcc of the test 1.0"; exit 0;; -print*) exit 0;; esac
for word in "$@"; do
  shift
  case "$last" in -Xlinker|-Xcompiler|-ccbin) last=; continue;; esac
  case "$word" in
    -Xlinker|-Xcompiler|-ccbin) last="$word";;
    *.cu) set -- "$@" -x c++ "$word";;
    *) set -- "$@" "$word";;
  esac
done
exec {compiler} "$@"
"""


@pytest.mark.parametrize(("arch", "script"), [("sm_90", NVCC), ("gfx90a", HIPCC)])
def test_a_library_does_not_hold_after_a_header_changed(
    arch: str, script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "compiler"
    program.write_text(script.format(compiler=COMPILER))
    program.chmod(0o755)
    vendor = vendor_of(arch)
    library = attrs.evolve(vendor.library, compiler=(str(program),))
    vendors = (attrs.evolve(vendor, library=library),)
    monkeypatch.setattr("fieldforge.stages.vendors.known.VENDORS", vendors)
    system = tmp_path / "include"
    system.mkdir()
    header = system / "vendor.h"
    header.write_text("#define ANSWER 1\n")
    variables = current().compiler_variables
    stage = CompileLibrary(GpuTarget(arch), ("-isystem", str(system)), variables=variables)
    source = '#include <vendor.h>\nextern "C" int answer() { return ANSWER; }\n'

    made = stage.run(generated=Generated("cuda", source, "", ("-shared", "-fPIC")))["compiled"]

    kept = {"compiled": {"manifest.json": made.manifest.encode()}}
    assert str(header) in json.loads(made.manifest)["headers"]
    assert stage.holds(kept)
    header.write_text("#define ANSWER 2  // not the same\n")
    assert not stage.holds(kept)
