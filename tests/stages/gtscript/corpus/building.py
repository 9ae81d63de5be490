"""Build the corpus: `FIELDFORGE_CACHE_DIR=EMPTY python -m tests.stages.gtscript.corpus.building`.

It prints how long that takes; arguments are a backend and the number of concurrent builds.
"""

from __future__ import annotations

import resource
import sys
import time
import warnings

import fieldforge as ff
from fieldforge.cartesian import gtscript

from ..stencils import define
from .every import CORPUS


def main(backend: str = "gt:cpu_kfirst", jobs: str = "2") -> None:
    """Read and build all stencils."""
    warnings.simplefilter("ignore")
    modules = [define(case["text"]) for case in CORPUS.values()]
    began = time.monotonic()
    stencils = [
        gtscript.stencil(
            backend,
            names["s"],
            name=f"corpus.s{place}",
            externals=names.get("EXTERNALS"),
            dtypes=names.get("DTYPES"),
        )
        for place, names in enumerate(modules)
    ]
    ff.precompile(stencils, jobs=int(jobs), progress=None)
    seconds = time.monotonic() - began
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(each.ru_utime + each.ru_stime for each in used)
    sys.stdout.write(
        f"{len(stencils)} stencils by '{backend}': {seconds:.1f} s, {cpu:.1f} s of processors\n"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
