"""A fault of the store is a warning for the person who runs the program."""

import errno
import os
import warnings

import pytest

from fieldforge.cache.disk import Disk
from fieldforge.cache.opening import open_layer
from fieldforge.workflows.engine.engine import StoreWarning, tell_of_store

from ...faults.sample import keep


def test_a_full_store_warns_once(tmp_path, monkeypatch):
    disk = Disk(tmp_path / "store", on_event=tell_of_store)

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("fieldforge.cache.disk.publish", full)
    with pytest.warns(StoreWarning, match=r"could not write .*: No space left on device\.") as told:
        assert [keep(disk, n).program for n in (1, 2)] == ["p1", "p2"]

    assert len(told) == 1
    assert "the next start builds it again" in " ".join(str(told[0].message).split())


def test_a_layer_that_is_no_pack_warns(tmp_path):
    (tmp_path / "junk").write_text("junk")

    with pytest.warns(StoreWarning, match="'.*junk' is no pack, or it is damaged"):
        open_layer(tmp_path / "junk", on_event=tell_of_store)


def test_what_the_store_does_every_day_is_no_warning(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        keep(Disk(tmp_path / "store", on_event=tell_of_store), 1)
