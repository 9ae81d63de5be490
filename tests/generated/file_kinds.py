"""The kinds of files that the package reads: a valid one, how to read it, its documented errors."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from .mutations import (
    CANARY,
    Mutation,
    archive_changed,
    bytes_changed,
    json_changed,
    lines_of_json_changed,
    toml_changed,
)

LIMIT: Final = 64 << 20  # bytes of the arrays of a capsule
OUTSIDE: Final = f"open({CANARY!r}, 'w').close()\n"
MODEL: Final = """
import fieldforge as ff

I = ff.Dimension("I")
Line = ff.Field[ff.Dims[I], ff.float64]

def keep(program):
    return program

@ff.field_operator(backend=ff.cpu)
def rise(u: Line, by: float) -> Line:
    return 0.1 * u(I + 1) - by * u

@ff.program(backend=ff.cpu)
def climb(u: Line, by: float, out: Line):
    rise(u, by, out=out)
"""
OPTIONS: Final = """
[[when]]
set.numerics = "strict"
set.parallel_from = 4096

[[when]]
program = "climbing:climb"
backend = ["cpu", "gpu*"]
arch = "x86-64*"
use = "cpu"
set.codegen.jam = false
set.arrays = ["%3"]
set.flags = ["-O2", "-mtune=generic"]
"""
TUNED: Final = """
[[when]]
program = "climbing:climb"
backend = "cpu"
arch = "znver4"
set.codegen.jam = false
set.codegen.arrays = ["%3"]
tuned.date = "2026-01-31"
tuned.machine = "a machine"
tuned.gain = 1.25
tuned.spread = 0.01
tuned.fields = "u: 64"
"""
JOURNAL: Final = b"""\
{"context": "here", "code": "a", "before": {}, "choice": {"jam": false}, "ratio": 0.5, "spread": 0}
{"context": "there", "code": "b", "before": {}, "choice": {"jam": true}, "ratio": 1.5, "spread": 0}
"""


@attrs.frozen
class Kind:
    """A kind of file.

    Attributes:
        name: the name of the file.
        mutate: changes its bytes.
        sample: returns the bytes of a valid file, None where a package is missing.
        read: reads a changed file as the package does.
        errors: what `read` may raise.
        beside: other files in its folder.
        alone: reads in a process of its own what `read` may end this one with, or take memory for.

    """

    name: str
    mutate: Mutation
    sample: Callable[[Path], bytes | None]
    read: Callable[[Path], object]
    errors: tuple[type[BaseException], ...]
    beside: Mapping[str, str] = attrs.field(factory=dict)
    alone: Callable[[Path], object] | None = None


def _model(root: Path) -> Any:
    from fieldforge.workflows.batches.addresses import load_module

    (root / "outside.py").write_text(OUTSIDE)  # above the folder of each changed file
    (root / "model").mkdir(exist_ok=True)  # which Python imports from, from now on
    (root / "model/climbing.py").write_text(MODEL)
    return load_module(str(root / "model/climbing.py"))


# --- capsules -------------------------------------------------------------------------------------


def _capsule(root: Path) -> bytes:
    import numpy as np

    import fieldforge as ff

    made = _model(root)
    memory = np.linspace(0.0, 1.0, 12)
    u, out = ff.as_field([made.I], memory[:9]), ff.zeros({made.I: 8})
    return Path(made.climb.capture(u, 0.3, out, path=root / "a.capsule")).read_bytes()


def _replayed(path: Path) -> None:
    from fieldforge.workflows.capsules.capsule import Capsule
    from fieldforge.workflows.capsules.replaying import replay

    capsule = Capsule.load(path, LIMIT)
    assert capsule.text
    assert replay(capsule).text
    assert replay(capsule, "reference").text


# --- lock files -----------------------------------------------------------------------------------


def _lock(root: Path) -> bytes:
    import fieldforge as ff

    made = _model(root)
    flow = ff.cpu.workflow.insert_after("lower", made.keep)
    with ff.locking(root / "model/programs.lock"):
        made.climb.compile()
        made.rise.with_backend(ff.cpu.with_workflow(flow).with_options(flags=("-O2",))).compile()
    return (root / "model/programs.lock").read_bytes()


def _located(path: Path) -> None:
    from fieldforge.workflows.batches.lock_file import read

    for row in read(path):
        sys.modules.pop("climbing", None)
        row.order(str(path.parent)).look()


# --- packs ----------------------------------------------------------------------------------------


def _pack(root: Path) -> bytes:
    import fieldforge as ff
    from fieldforge.cache.disk import Disk
    from fieldforge.cache.pack import write_pack

    made = _model(root)
    disk = Disk(root / "packed")
    with ff.using(ff.Engine(disk)):
        made.climb.build()
    target = {"isa": "x86-64-v3", "cores": 64, "vector_bytes": 32, "l2": 1 << 20, "bandwidth": 1e9}
    head = {"programs": ["climbing.py:climb"], "pins": [[{"compiler": "c++ 1"}, target]]}
    write_pack(root / "a.ffpack", disk, disk.records(), head)
    return (root / "a.ffpack").read_bytes()


def _unpacked(path: Path) -> None:
    from fieldforge.cache.disk import Disk
    from fieldforge.cache.pack import Pack, unpack
    from fieldforge.stages.compile.pins import parse_pins

    pack = Pack(path)
    parse_pins(pack.head().get("pins", ()))
    unpack(pack, Disk(path.parent / "store"))


# --- options --------------------------------------------------------------------------------------


def _applied(path: Path) -> None:
    from fieldforge.workflows.backends.backend import BACKENDS
    from fieldforge.workflows.options.database import MODEL as LAYER, Database, checked
    from fieldforge.workflows.options.option_file import read_options

    known = Database((checked(read_options(path, LAYER)),))
    known.use("cpu", "climbing:climb", ())
    known.applied(BACKENDS["cpu"], "climbing:climb")


def _kept(path: Path) -> None:
    from fieldforge.workflows.tuning.tuned_file import Winner, keep, kept

    kept(path, "climbing:climb", "cpu", "znver4")
    won = Winner("climbing:rise", "cpu", "", (("codegen.jam", True),), "", "", 1.5, 0.1)
    keep(path, won)
    assert kept(path, "climbing:rise", "cpu", "") == won.options


def _known(path: Path) -> None:
    from fieldforge.workflows.tuning.journal import Journal

    for verdict in Journal(path, "here").known().values():
        assert verdict.gain > 0


# --- meshes ---------------------------------------------------------------------------------------


def _mesh(root: Path) -> bytes | None:
    try:
        import netCDF4
    except ModuleNotFoundError:
        return None
    import numpy as np

    with netCDF4.Dataset(root / "mesh.nc", "w") as file:
        for name, size in (("cell", 2), ("node", 4), ("edge", 5), ("three", 3), ("two", 2)):
            file.createDimension(name, size)
        topology = file.createVariable("mesh", "i4", ())
        topology.cf_role, topology.topology_dimension = "mesh_topology", 2
        topology.face_node_connectivity, topology.edge_node_connectivity = "faces", "edges"
        topology.node_coordinates = "x y"
        faces = file.createVariable("faces", "i4", ("cell", "three"))
        faces.start_index, faces[:] = 1, np.array([[1, 2, 3], [2, 3, 4]])
        edges = file.createVariable("edges", "i4", ("edge", "two"))
        edges.start_index, edges[:] = 0, np.array([[0, 1], [1, 2], [0, 2], [1, 3], [2, 3]])
        for name in ("x", "y"):
            file.createVariable(name, "f8", ("node",))[:] = np.arange(4.0)
    return (root / "mesh.nc").read_bytes()


def _mesh_changed(draw: random.Random, content: bytes) -> bytes:
    """Change values, attributes and types of a mesh, or bytes of its file."""
    import tempfile

    import netCDF4
    import numpy as np

    if draw.random() < 0.5:
        return bytes_changed(draw, content)
    numbers = (-1, -5, 0, 1, 3, 4, 9, 2**31 - 1)
    with tempfile.NamedTemporaryFile(suffix=".nc") as file:
        file.write(content)
        file.flush()
        with netCDF4.Dataset(file.name, "a") as mesh:
            for _ in range(draw.choice((1, 1, 2, 3))):
                variable = mesh.variables[draw.choice(["mesh", "faces", "edges", "x", "y"])]
                match draw.randrange(5):
                    case 0 if variable.ndim == 2:
                        at = tuple(draw.randrange(size) for size in variable.shape)
                        variable[at] = draw.choice(numbers)
                    case 1 if variable.ncattrs():
                        variable.delncattr(draw.choice(variable.ncattrs()))
                    case 2 if variable.ncattrs():
                        value: Any = draw.choice(
                            (0, 1, 2**40, 1.5, -1, "", "x", "faces x", "y y y")
                        )
                        variable.setncattr(draw.choice(variable.ncattrs()), value)
                    case 3:
                        kind = draw.choice(("i8", "f8", "u1", "i1", "S1"))
                        own = f"other{len(mesh.variables)}"
                        made = mesh.createVariable(
                            own, kind, ("cell", draw.choice(("three", "two")))
                        )
                        if kind != "S1":
                            made[:] = np.array(draw.choice((2, 2**32 + 3, 2.7)), "f8").astype(kind)
                        role = draw.choice(("face_node", "edge_node", "face_edge", "edge_face"))
                        mesh.variables["mesh"].setncattr(f"{role}_connectivity", own)
                    case _:
                        mesh.variables["mesh"].setncattr(
                            "face_dimension", draw.choice(("three", 1))
                        )
        return Path(file.name).read_bytes()


def _mesh_read(path: Path) -> None:
    import fieldforge as ff

    ff.read_mesh(path, isolated=False)  # a start of Python for each of 10,000 would take hours


def _mesh_read_alone(path: Path) -> None:
    import fieldforge as ff

    ff.read_mesh(path)


def _kinds() -> dict[str, Kind]:
    from fieldforge.runtime.process.errors import FieldforgeError, InputDataError, OptionError
    from fieldforge.workflows.capsules.values import CapsuleError

    beside = {"climbing.py": MODEL}
    journal, mesh = lines_of_json_changed, _mesh_changed
    return {
        "capsule": Kind("a.capsule", archive_changed, _capsule, _replayed, (CapsuleError,)),
        "lock": Kind("a.lock", json_changed, _lock, _located, (FieldforgeError,), beside),
        "pack": Kind("a.ffpack", archive_changed, _pack, _unpacked, ()),
        "options": Kind(
            "a.toml", toml_changed, lambda _: OPTIONS.encode(), _applied, (OptionError,)
        ),
        "tuned": Kind(
            "a.tuned.toml", toml_changed, lambda _: TUNED.encode(), _kept, (OptionError,)
        ),
        "journal": Kind("a.jsonl", journal, lambda _: JOURNAL, _known, ()),
        "mesh": Kind("mesh.nc", mesh, _mesh, _mesh_read, (InputDataError,), alone=_mesh_read_alone),
    }


KINDS: Final = _kinds()
