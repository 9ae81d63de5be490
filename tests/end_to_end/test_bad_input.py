"""What can be wrong with a program or a call: one clear sentence each, and nothing is touched."""

import pytest

import fieldforge as ff
from fieldforge.cache.disk import Disk

from ..dimensions import I, Line


@ff.field_operator
def doubled(u: Line) -> Line:
    return u + u


@pytest.fixture
def store(tmp_path):
    events = []
    disk = Disk(tmp_path / "cache", on_event=lambda name, **facts: events.append((name, facts)))
    with ff.using(ff.Engine(disk)):
        yield disk, events


def test_without_a_compiler_the_hint_says_how_to_get_one(store):
    program = doubled.with_backend(ff.recipes.cpu(cxx="no-such-compiler"))

    with pytest.raises(ff.errors.CompilerNotFoundError, match="'no-such-compiler'") as caught:
        program(ff.ones({I: 3}), out=ff.zeros({I: 3}))

    assert "Hint:" in str(caught.value)


@pytest.mark.needs_compiler
def test_a_compiler_that_fails_shows_command_exit_code_and_log(store, tmp_path):
    broken = ff.recipes.cpu(flags=("-fno-such-flag",), directory=tmp_path)

    with pytest.raises(ff.errors.CompilationError, match="failed with exit code 1") as caught:
        doubled.with_backend(broken)(ff.ones({I: 3}), out=ff.zeros({I: 3}))

    assert "-fno-such-flag" in str(caught.value)
    [log] = (tmp_path / "log").iterdir()
    assert "-fno-such-flag" in log.read_text()


@pytest.mark.needs_compiler
@pytest.mark.parametrize("damage", ["truncate", "flip", "delete", "unreadable"])
def test_a_damaged_store_entry_is_rebuilt_and_reported(store, damage):
    disk, events = store
    out = ff.zeros({I: 3})
    doubled.with_backend(ff.cpu)(ff.ones({I: 3}), out=out)
    kept = [
        file
        for part in ("act", "cas")
        for file in (disk.path / "v1" / part).rglob("*")
        if file.is_file()
    ]
    for file in kept:
        spoil(file, damage)
    out[...] = 0.0

    with ff.using(ff.Engine(disk)):
        doubled.with_backend(ff.cpu)(ff.ones({I: 3}), out=out)

    assert (out.asnumpy() == 2.0).all()
    if damage in ("truncate", "flip"):
        assert "store.corrupt" in {name for name, _ in events}
        assert list((disk.path / "v1" / "bad").iterdir())
    events.clear()
    with ff.using(ff.Engine(disk)):
        again = doubled.with_backend(ff.cpu).trace()
    assert {step.outcome for step in again.values() if step.key} == {"disk"}
    assert not events


def spoil(file, damage):
    content = file.read_bytes()
    file.chmod(0o600)
    if damage == "truncate":
        file.write_bytes(content[: len(content) // 2])
    elif damage == "flip":
        middle = len(content) // 2
        file.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    elif damage == "delete":
        file.unlink()
    else:
        file.unlink()
        file.mkdir()
