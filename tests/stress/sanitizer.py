"""Run the stress test on a build of the native core with ThreadSanitizer.

    python -m tests.stress.sanitizer --seconds 60

The core and nanobind are compiled with `-fsanitize=thread`; the interpreter, NumPy and generated
code are not, but their locks are seen. Fails where a race is reported.
"""

import argparse
import os
import platform
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nanobind

ROOT = Path(__file__).parent.parent.parent
BUILD = ROOT / "build" / "tsan"
FLAGS = "-std=c++20 -O1 -g -fsanitize=thread -fno-omit-frame-pointer -fPIC -fno-strict-aliasing"
FLAGS += " -fvisibility=hidden"


def build() -> Path:
    """Compile the core, as few files as changed."""
    BUILD.mkdir(parents=True, exist_ok=True)
    home = Path(nanobind.__file__).parent
    includes = [sysconfig.get_path("include"), home / "include", home / "ext/robin_map/include"]
    compiler = ["c++", *FLAGS.split(), *(f"-I{folder}" for folder in includes)]
    native = ROOT / "runtime" / "native"
    headers = max(path.stat().st_mtime for end in ("h", "inc") for path in native.rglob(f"*.{end}"))

    def compiled(source: Path) -> str:
        target = BUILD / f"{source.parent.name}_{source.stem}.o"
        newest = max(source.stat().st_mtime, headers)
        if not target.exists() or target.stat().st_mtime < newest:
            subprocess.run([*compiler, "-c", str(source), "-o", str(target)], check=True)
        return str(target)

    sources = (*sorted(native.rglob("*.cpp")), home / "src" / "nb_combined.cpp")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compiled, sources))
    core = BUILD / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    subprocess.run([*compiler, "-shared", *objects, "-o", str(core)], check=True)
    return core


def run(core: Path, seconds: float, threads: int, part: str) -> int:
    """Run the stress test in a process that the sanitizer watches; return its exit status."""
    runtime = subprocess.run(
        ["c++", "-print-file-name=libtsan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    options = (
        f"suppressions={Path(__file__).with_name('suppressions.txt')} exitcode=66 history_size=4"
    )
    command = ["setarch", platform.machine(), "-R"]  # the sanitizer wants addresses where they were
    command += ["env", f"LD_PRELOAD={runtime}", f"TSAN_OPTIONS={options}", "OMP_NUM_THREADS=1"]
    command += [sys.executable, "-m", "tests.stress.threads", "--core", str(core), "--part", part]
    command += ["--seconds", str(seconds), "--threads", str(threads)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def main() -> int:
    """Read the command line, build and run."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--seconds", type=float, default=60.0)
    reader.add_argument("--threads", type=int, default=8)
    reader.add_argument("--part", choices=("cpu", "gpu", "all"), default="all")
    given = reader.parse_args()
    return run(build(), given.seconds, given.threads, given.part)


if __name__ == "__main__":
    sys.exit(main())
