"""A pack is a store in one file: it starts programs anywhere, even without a compiler."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import attrs
import pytest
from click.testing import CliRunner

from fieldforge.cache.disk import Disk
from fieldforge.cache.layered import Layered
from fieldforge.cache.memory import Memory
from fieldforge.cache.pack import Pack, Recorder, unpack, write_pack
from fieldforge.cache.store import read_outputs
from fieldforge.runtime.process.errors import StoreError, StorePermissionError
from fieldforge.stages.compile.pins import Pin, add_pins, find_pin, parse_pins, read_pins
from fieldforge.stages.target import Target, host_isa, runs_here
from fieldforge.workflows.commands.cli import main

from ..faults.sample import is_there, keep, key
from ..processes import python

SECRET, OTHER = b"0123456789abcdef", b"fedcba9876543210"


@pytest.fixture
def file(disk, tmp_path) -> Path:
    """Write a pack of three results."""
    records = [keep(disk, n) for n in range(3)]
    write_pack(tmp_path / "some.ffpack", disk, records, {"programs": ["p"]}, SECRET)
    return tmp_path / "some.ffpack"


def test_what_is_packed_is_found_and_nothing_else(file):
    pack = Pack(file)
    assert all(is_there(pack, n) for n in range(3))
    assert pack.find(key(3)) is None
    assert pack.find("../evil") is None
    assert pack.blob("0" * 64) is None
    assert pack.head() == {"programs": ["p"]}
    assert [record.program for record in pack.records(program="p1")] == ["p1"]
    assert (pack.stats().records, pack.stats().blobs) == (3, 3)


def test_a_pack_may_be_moved_and_is_the_same_bytes_each_time(file, disk, tmp_path):
    records = [disk.find(key(n)) for n in (2, 1, 0)]
    write_pack(tmp_path / "again.ffpack", disk, records, {"programs": ["p"]}, SECRET)
    assert (tmp_path / "again.ffpack").read_bytes() == file.read_bytes()
    file.rename(tmp_path / "moved")
    assert is_there(Pack(tmp_path / "moved"), 1)


def test_anybody_can_look_inside(file):
    names = zipfile.ZipFile(file).namelist()
    assert names[0] == "pack.json"
    assert sorted(name.partition("/")[0] for name in names) == ["act"] * 3 + ["cas"] * 3 + [
        "pack.json"
    ]


def test_a_result_whose_files_are_gone_is_left_out(disk, root, tmp_path):
    records = [keep(disk, n) for n in range(2)]
    next((root / "v1/cas").glob("*/*")).unlink()
    assert write_pack(tmp_path / "p.ffpack", disk, records, {}) == 1


def test_a_pack_is_a_layer_that_nothing_is_written_to(file, tmp_path):
    before = file.read_bytes()
    own = Disk(tmp_path / "own")
    store = Layered(Memory(), own, Pack(file))
    assert is_there(store, 1)
    assert is_there(own, 1)
    keep(store, 9)
    with Pack(file).lock(key(1)) as mine:
        assert not mine
    assert keep(Pack(file), 8).key == key(8)
    assert file.read_bytes() == before


def test_unpacking_copies_every_record_as_it_was(file, tmp_path):
    other = Disk(tmp_path / "other")
    assert unpack(Pack(file), other) == 3
    assert list(other.records()) == list(Pack(file).records())


def test_a_signed_pack_is_believed_with_its_key_only(file):
    file.chmod(0o666)
    with pytest.raises(StorePermissionError, match="written to by others"):
        Pack(file)
    assert is_there(Pack(file, secret=SECRET, signed=True), 1)
    assert Pack(file, secret=SECRET, signed=True).head()
    assert Pack(file, secret=OTHER, signed=True).find(key(1)) is None
    assert not Pack(file, secret=OTHER, signed=True).head()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_a_pack_of_another_user_is_refused_without_a_key(file):
    os.chown(file, 65534, 65534)
    with pytest.raises(StorePermissionError, match="belongs to user 65534"):
        Pack(file)
    assert is_there(Pack(file, secret=SECRET, signed=True), 1)


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x05\x06" + bytes(18), bytes(10_000)])
def test_what_is_no_pack_is_empty_and_reported(content, tmp_path, events):
    path = tmp_path / "p.ffpack"
    path.write_bytes(content)
    pack = Pack(path, on_event=events)
    assert pack.find(key(1)) is None
    assert list(pack.records()) == []
    assert not pack.head()
    assert Pack(tmp_path / "none.ffpack", on_event=events).find(key(1)) is None
    assert "store.read_failed" in events.names()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"readme.txt": b"hello"}, "unknown member 'readme.txt'"),
        ({"cas/../../x": b""}, "is no plain file"),
        ({"pack.json": None}, "it has no 'pack.json'"),
    ],
)
def test_another_archive_is_no_pack(file, tmp_path, events, change, said):
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()} | change
    other = tmp_path / "other.ffpack"
    with zipfile.ZipFile(other, "w") as archive:
        for name, content in members.items():
            if content is not None:
                archive.writestr(name, content)

    pack = Pack(other, on_event=events)

    assert not pack.is_pack
    assert pack.find(key(1)) is None
    assert events.names() == ["store.corrupt"]
    assert said in str(events[-1][1]["error"])


def test_a_pack_with_compressed_members_is_refused(tmp_path, events):
    with zipfile.ZipFile(tmp_path / "a.ffpack", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("pack.json", bytes(1 << 26))

    assert not Pack(tmp_path / "a.ffpack", on_event=events).is_pack
    assert events.names() == ["store.corrupt"]


def test_two_processes_that_forked_read_one_pack(file):
    script = f"""
import os
from fieldforge.cache.pack import Pack
from tests.faults.sample import is_there
pack = Pack({str(file)!r})
is_there(pack, 0)  # it is open now
child = os.fork()
fine = all(is_there(pack, n % 3) for n in range(300))
if child:
    fine = fine and os.waitpid(child, 0)[1] == 0
os._exit(0 if fine else 1)
"""
    done = python("-c", script, cwd=Path(__file__).parents[2])
    assert done.returncode == 0


def test_a_pack_that_cannot_be_written_is_an_error_and_leaves_nothing(disk, tmp_path):
    record = keep(disk, 1)
    with pytest.raises(StoreError, match="cannot be written"):
        write_pack(tmp_path / "none" / "p.ffpack", disk, [record], {})
    assert not (tmp_path / "none").exists()


def test_a_recorder_notes_what_is_found_and_kept(disk):
    keep(disk, 1)
    recorder = Recorder(disk)
    recorder.find(key(1))
    recorder.find(key(3))
    keep(recorder, 2)
    assert set(recorder.seen) == {key(1), key(2)}
    assert all(read_outputs(recorder, record) for record in recorder.seen.values())


# Pins: which compiler and which machine keys name where there is no compiler.

PIN = Pin((("compiler", "g++ 1; c++ 00"),), Target(isa=host_isa(), cores=3))


def test_a_pin_comes_back_from_a_pack_and_from_a_store(disk, tmp_path):
    head = {"pins": json.loads(json.dumps([PIN.row()]))}
    write_pack(tmp_path / "p.ffpack", disk, [keep(disk, 1)], head)
    add_pins(tmp_path / "store", parse_pins(head["pins"]))
    assert find_pin([tmp_path / "none", tmp_path / "p.ffpack"]) == PIN
    assert find_pin([tmp_path / "store"]) == PIN


def test_a_pin_for_another_machine_is_passed_over(tmp_path):
    strange = attrs.evolve(PIN, target=Target(isa="armv8-a" if runs_here("x86-64") else "x86-64"))
    add_pins(tmp_path, [PIN])
    add_pins(tmp_path, [strange])
    assert read_pins(tmp_path) == (strange, PIN)
    assert find_pin([tmp_path]) == PIN


@pytest.mark.parametrize(
    "rows",
    [[1], [[{"a": []}, {"isa": "x86-64"}]], [[{}, {"isa": "vax"}]], [[[], {}]], ["ab"], [None]],
)
def test_what_has_another_shape_is_no_pin(rows):
    assert parse_pins(rows) == ()


# The whole way: pack on one machine, start on one without a compiler.

START = """
import sys
import numpy as np
import fieldforge as ff
from fieldforge.examples import diffusion
seen = ff.Collector()
with ff.using(ff.Engine(ff.workflows.engine.engine.engine().store, observers=[seen])):
    program = diffusion.diffuse.with_backend(ff.recipes.cpu())
    field = ff.ones({diffusion.I: 9, diffusion.J: 9, diffusion.K: 2})
    out = ff.zeros({diffusion.I: (2, 7), diffusion.J: (2, 7), diffusion.K: 2})
    program(field, field, out)
print(float(out.asnumpy().sum()), sorted(seen.ran()))
"""


def start(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the program where nothing is on the path, and no cache is that of this process."""
    places = {"FIELDFORGE_CACHE_DIR": folder / "cache", "FIELDFORGE_LOCAL_DIR": folder / "local"}
    environ = {"PATH": "", **{name: str(place) for name, place in places.items()}, **variables}
    return subprocess.run(
        [sys.executable, "-c", START], env=environ, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def packed(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("packed")
    script = "from fieldforge.workflows.commands.cli import main; main()"
    program = "fieldforge.examples.diffusion:diffuse"
    key_file = folder / "key"
    key_file.write_bytes(SECRET)
    key_file.chmod(0o600)
    environ = {
        "FIELDFORGE_CACHE_DIR": str(folder / "cache"), "FIELDFORGE_CACHE_KEY": str(key_file),
        "FIELDFORGE_LOCAL_DIR": str(folder / "local"),
    }  # fmt: skip
    python(
        "-c", script, "cache", "pack", program, "-o", folder / "d.ffpack", check=True, env=environ
    )
    return folder


@pytest.mark.needs_compiler
def test_without_pack_or_compiler_the_error_says_what_is_missing(tmp_path):
    done = start(tmp_path)
    assert "No C++ compiler was found" in done.stderr


@pytest.mark.needs_compiler
def test_a_node_without_a_compiler_starts_from_a_pack(packed, tmp_path):
    done = start(tmp_path, FIELDFORGE_CACHE_LAYERS=str(packed / "d.ffpack"))
    assert done.stdout == "50.0 ['decorate']\n", done.stderr


@pytest.mark.needs_compiler
def test_a_node_without_a_compiler_starts_from_a_signed_pack_of_anybody(packed, tmp_path):
    copy = tmp_path / "copy.ffpack"
    copy.write_bytes((packed / "d.ffpack").read_bytes())
    copy.chmod(0o666)
    with pytest.raises(StorePermissionError, match="written to by others"):
        Pack(copy)
    key_file, layers = str(packed / "key"), str(copy)
    done = start(tmp_path, FIELDFORGE_CACHE_KEY=key_file, FIELDFORGE_CACHE_LAYERS=layers)
    assert done.stdout == "50.0 ['decorate']\n", done.stderr


@pytest.mark.needs_compiler
def test_a_pack_that_is_unpacked_starts_programs_without_it(packed, tmp_path, monkeypatch):
    from fieldforge.runtime.process import settings

    monkeypatch.setenv("FIELDFORGE_CACHE_DIR", str(tmp_path / "cache"))
    settings.set_current(None)
    file = str(packed / "d.ffpack")
    refused = CliRunner().invoke(main, ["cache", "unpack", file])
    taken = CliRunner().invoke(main, ["cache", "unpack", file, "--trust"])
    assert refused.exit_code == 1
    assert "--trust" in refused.output
    assert "results are in" in taken.output
    done = start(tmp_path)
    assert done.stdout == "50.0 ['decorate']\n", done.stderr
