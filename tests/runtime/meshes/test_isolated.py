"""A mesh file that ends, fills or holds up the process that reads it is refused with a reason."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.errors import InputDataError
from fieldforge.runtime.meshes import isolated

from ...processes import python

CORNERS = np.array([[0, 1, 2], [1, 3, 2]])


@pytest.fixture
def mesh_file(tmp_path):
    pytest.importorskip("netCDF4", reason="the extra 'xarray' is not installed")
    mesh = ff.Mesh({"C2V": CORNERS}, {"V": ([0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0])})
    V = ff.Dimension("V")
    mesh.to_xarray({"V": V}).to_netcdf(tmp_path / "mesh.nc")
    return tmp_path / "mesh.nc"


@pytest.fixture
def in_child(monkeypatch, tmp_path):
    """Let the library of the child do something when it opens a file."""

    def lead(body):
        (tmp_path / "site").mkdir()
        (tmp_path / "site/netCDF4.py").write_text(f"def Dataset(path):\n    {body}\n")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))

    return lead


def test_both_ways_read_the_same_mesh(mesh_file):
    apart, here = ff.read_mesh(mesh_file), ff.read_mesh(mesh_file, isolated=False)

    assert apart.tables["C2V"].tolist() == here.tables["C2V"].tolist() == CORNERS.tolist()
    assert apart.tables["C2V"].dtype == np.int32
    assert [each.tolist() for each in apart.points["V"]] == [
        each.tolist() for each in here.points["V"]
    ]


def test_this_process_does_not_load_the_library(mesh_file):
    code = (
        f"import sys, fieldforge as ff; ff.read_mesh({str(mesh_file)!r}); "
        "print('netCDF4' in sys.modules)"
    )

    done = python("-c", code, check=True)

    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("import os; os.abort()", "the process that read it ended with SIGABRT"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "ended with SIGSEGV"),
        ("import os; os._exit(7)", "ended with status 7"),
        ("bytearray(2 << 30)", "needs more than 1024 MiB"),
        ("raise RecursionError('deep')", "deep"),
        ("print('a word of a library', flush=True); raise OSError('bad')", "bad"),
    ],
)
def test_the_end_of_the_child_is_an_error_with_the_reason(mesh_file, in_child, body, words):
    in_child(body)

    with pytest.raises(InputDataError) as caught:
        ff.read_mesh(mesh_file)

    assert caught.value.message.startswith(f"'{mesh_file}' cannot be read as NetCDF: ")
    assert words in caught.value.message


def test_a_child_that_takes_too_long_is_ended(mesh_file, in_child, monkeypatch, tmp_path):
    monkeypatch.setattr(isolated, "SECONDS", 2)
    (tmp_path / "pid").touch()
    in_child(f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); "
             "time.sleep(600)")  # fmt: skip

    with pytest.raises(InputDataError, match="the process that read it took more than 2 s"):
        ff.read_mesh(mesh_file)

    if pid := (tmp_path / "pid").read_text():  # a slow machine ends it before it writes
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), signal.SIGCONT)


def test_a_folder_and_a_missing_file_are_refused(tmp_path):
    pytest.importorskip("netCDF4", reason="the extra 'xarray' is not installed")
    for path in (tmp_path, tmp_path / "none.nc", Path("http://localhost:1/mesh.nc")):
        with pytest.raises(InputDataError, match="cannot be read as NetCDF"):
            ff.read_mesh(path)


def test_a_module_of_the_working_folder_is_not_imported(mesh_file, monkeypatch):
    (mesh_file.parent / "numpy.py").write_text("raise SystemExit(3)\n")
    monkeypatch.chdir(mesh_file.parent)

    assert ff.read_mesh("mesh.nc").sizes["C"] == 2
