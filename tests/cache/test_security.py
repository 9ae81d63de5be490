"""T12: what could have been written by somebody else is refused, and nothing in it is run."""

import json
import os
import pickle
import stat
import tempfile
from pathlib import Path

import pytest

from fieldforge.cache.disk import Disk
from fieldforge.cache.files import read_file
from fieldforge.cache.opening import open_layer, open_store, read_secret
from fieldforge.cache.record import parse_record
from fieldforge.cache.sealed import seal, unseal
from fieldforge.runtime.process.errors import StoreError, StorePermissionError
from fieldforge.runtime.process.settings import Settings

from ..faults.sample import is_there, keep, key
from ..processes import python

SECRET, OTHER = b"0123456789abcdef", b"fedcba9876543210"
TRAVERSALS = [
    "..", ".", "", "/", "/etc/passwd", "../x", "../../x", "a/../b", "a/b", "./x", "x/", "x/..",
    "..\\x", "\\x", "C:\\x", "x\0y", "x\ny", "x y", "~", "~/x", "$HOME", "`id`", "x;y", "|x",
    "%2e%2e", "..%2fx", "\u2024\u2024", "x" * 129, "\N{FULLWIDTH FULL STOP}", "é", "x:y", "*", "?",
]  # fmt: skip


@pytest.mark.parametrize("name", TRAVERSALS)
def test_names_that_could_lead_out_of_the_store_are_refused(name, root, disk, sample):
    with pytest.raises(StoreError, match="cannot be stored"):
        sample.keep(disk, outputs={"port": {name: b"x" * 20000}})
    with pytest.raises(StoreError, match="cannot be stored"):
        sample.keep(disk, outputs={name: {"file": b"x" * 20000}})
    with pytest.raises(StoreError, match="cannot be stored"):
        sample.keep(disk, key=name)
    assert not root.exists()


@pytest.mark.parametrize("name", TRAVERSALS)
def test_a_record_that_was_forged_with_such_names_is_damaged(name, disk, sample):
    record = sample.keep(disk)
    kind = "fieldforge-record-2"
    body = json.loads(unseal(kind, record.encode()))
    for where in ("file", "port", "sha256"):
        forged = json.loads(json.dumps(body))
        port = forged["outputs"][0]
        if where == "port":
            port[0] = name
        else:
            port[2][0][("file", "sha256").index(where)] = name
        with pytest.raises(ValueError, match="wrong shape"):
            parse_record(seal(kind, json.dumps(forged)), sample.key)


class Bomb:
    def __reduce__(self):
        return os.system, ("touch bombed",)


def test_a_pickle_in_place_of_anything_is_not_read(root, disk, sample, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sample.keep(disk)
    files = [path for path in root.rglob("*") if path.is_file()]
    for path in files:
        path.unlink()
        path.write_bytes(pickle.dumps(Bomb()))
    assert not sample.is_in(Disk(root))
    assert not (tmp_path / "bombed").exists()


def test_the_store_cannot_read_pickles_at_all():
    for path in Path(Disk.__init__.__code__.co_filename).parent.glob("*.py"):
        assert "import pickle" not in path.read_text()


def test_a_record_that_is_too_long_is_not_read_to_its_end(disk, sample, record_path):
    record_path.unlink()
    with record_path.open("wb") as stream:
        stream.truncate(1 << 40)  # a hole: it takes no room
    assert disk.find(sample.key) is None


def test_a_device_is_not_opened_as_a_file():
    with pytest.raises(ValueError, match="not a file"):
        read_file("/dev/zero", 100)


# Signed layers.


@pytest.fixture
def team(tmp_path, sample):
    """Make a store of a team, signed, in a folder that everybody may write to."""
    sample.keep(Disk(tmp_path / "team", secret=SECRET))
    (tmp_path / "team").chmod(0o777)
    return tmp_path / "team"


def test_a_signed_layer_is_believed_whoever_may_write_to_it(team, sample):
    assert sample.is_in(Disk(team, read_only=True, secret=SECRET, signed=True))


def test_without_its_key_a_layer_that_others_may_write_to_is_refused(team):
    with pytest.raises(StorePermissionError, match="written to by others"):
        Disk(team, read_only=True)


def test_what_another_key_signed_is_a_miss(team, sample, events):
    layer = Disk(team, read_only=True, secret=OTHER, signed=True, on_event=events)
    assert layer.find(sample.key) is None
    assert "not signed by the key" in str(events[0][1]["error"])


def test_what_nobody_signed_is_a_miss(root, disk, sample):
    sample.keep(disk)
    assert Disk(root, read_only=True, secret=SECRET, signed=True).find(sample.key) is None


def test_an_exchanged_file_in_a_signed_layer_is_noticed(team, sample):
    (blob,) = (team / "v1/cas").glob("*/*")
    blob.unlink()
    blob.write_bytes(b"forged")
    assert not sample.is_in(Disk(team, read_only=True, secret=SECRET, signed=True))


def test_a_record_that_was_forged_and_sealed_anew_is_noticed(team, sample):
    (path,) = (team / "v1/act").glob("*/*")
    kind = "fieldforge-record-2"
    body = json.loads(unseal(kind, path.read_bytes()))
    signature = path.read_bytes().rpartition(b"\n")[2].decode()
    path.unlink()
    path.write_bytes(seal(kind, json.dumps({**body, "seconds": 9.0}) + "\n" + signature))
    assert Disk(team, read_only=True, secret=SECRET, signed=True).find(sample.key) is None


def test_a_signature_does_not_stop_those_without_the_key_who_own_the_store(root, sample):
    sample.keep(Disk(root, secret=SECRET))
    assert sample.is_in(Disk(root))


# Keys, and the store that the settings ask for.


@pytest.fixture
def key_file(tmp_path):
    path = tmp_path / "key"
    path.write_bytes(SECRET + b"\n")
    path.chmod(0o600)
    return path


def test_a_key_is_the_content_of_a_private_file(key_file):
    assert read_secret(key_file) == SECRET
    assert read_secret(None) is None


@pytest.mark.parametrize("mode", [0o604, 0o620, 0o666, 0o602])
def test_a_key_that_others_may_read_or_change_is_refused(key_file, mode):
    key_file.chmod(mode)
    with pytest.raises(StorePermissionError, match="open to others") as caught:
        read_secret(key_file)
    assert "chmod" in str(caught.value)


def test_a_key_that_is_short_or_missing_is_refused(key_file):
    key_file.write_bytes(b"short")
    with pytest.raises(StorePermissionError, match="at least 16 bytes, got 5"):
        read_secret(key_file)
    with pytest.raises(StorePermissionError, match="cannot be read"):
        read_secret(key_file.with_name("none"))


def test_the_settings_open_the_user_s_store_before_team_and_site(team, key_file, tmp_path, sample):
    site = tmp_path / "site"
    keep(Disk(site, secret=SECRET), 7)
    settings = Settings(cache_dir=tmp_path / "own", cache_layers=(team, site), cache_key=key_file)
    store = open_store(settings)
    assert sample.is_in(store)
    assert is_there(store, 7)
    assert sample.is_in(Disk(tmp_path / "own"))  # what was found below is kept at hand
    record = keep(store, 8)
    assert Disk(tmp_path / "own", secret=SECRET, signed=True).find(key(8)) == record
    assert Disk(site).find(key(8)) is None


def test_without_layers_the_store_is_the_user_s_own(tmp_path):
    assert isinstance(open_store(Settings(cache_dir=tmp_path / "own")), Disk)


def test_a_layer_that_is_not_there_holds_nothing(tmp_path, sample):
    assert not sample.is_in(open_layer(tmp_path / "none"))
    assert not sample.is_in(open_layer(tmp_path / "none.ffpack"))


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")


@as_root
def test_a_store_of_another_user_is_refused(root, disk, sample):
    sample.keep(disk)
    for path in [root, *root.rglob("*")]:
        os.chown(path, 65534, 65534)
    with pytest.raises(StorePermissionError, match="belongs to user 65534"):
        Disk(root)


NOBODY = """
import os, sys
from tests.faults.sample import is_there, keep
from fieldforge.cache.disk import Disk
os.setgroups([]); os.setgid(65534); os.setuid(65534)  # it may not read the packages
events = []
disk = Disk(sys.argv[1], owners=(0,), on_event=lambda name, **facts: events.append(name))
keep(disk, 2)
print(is_there(disk, 1), is_there(disk, 2), events)
"""


@as_root
def test_a_store_that_may_not_be_written_still_answers():
    """The same on a real system without the rights: EACCES, which root never meets."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        place = Path(folder, "store")
        old = os.umask(0o022)
        keep(Disk(place), 1)
        for path in [place, *place.rglob("*")]:
            path.chmod(stat.S_IMODE(path.stat().st_mode) | (0o055 if path.is_dir() else 0o044))
        os.umask(old)
        done = python("-c", NOBODY, place, cwd=Path(__file__).parents[2])
        assert done.stdout.strip() == "True False ['store.put_failed']", done.stderr
