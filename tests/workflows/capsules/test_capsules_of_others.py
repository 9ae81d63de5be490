"""A capsule of somebody else is data: nothing in it runs, and what is absurd is not even read."""

import io
import json
import os
import zipfile
from pathlib import Path

import attrs
import numpy as np
import pytest

import fieldforge as ff
from fieldforge.runtime.fields.field import make
from fieldforge.stages.ir import codec
from fieldforge.workflows.capsules.capsule import HEAD, Capsule
from fieldforge.workflows.capsules.replaying import replay
from fieldforge.workflows.capsules.values import CapsuleError, shared_memory

from .smoothing import I, J, scaled, smooth, split

pytestmark = pytest.mark.needs_compiler


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    values = np.random.default_rng(5).random((7, 5))
    u, out, other = (ff.as_field([I, J], values * by) for by in (1.0, 0.0, 0.0))
    folder = tmp_path_factory.mktemp("capsules")
    return smooth.capture(u=u, by=0.7, out=out, other=other, path=folder / "a.capsule")


@pytest.fixture
def capsule(file):
    return Capsule.load(file)


def members_of(file: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewritten(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def on(array: np.ndarray):
    """Return a field on an array, without a copy."""
    return make(array, ff.domain(dict(zip((I, J), array.shape, strict=True))))


# --- options --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "flags",
    [
        "('-wrapper', 'sh,-c,touch canary')", "('-specs=x',)", "('-fplugin=./x.so',)", "('-B.',)",
        "('-include', '/etc/passwd')", "('-I/tmp',)", "('@x',)", "('-Xclang', '-load')",
        "('-o', 'x')",
        "('-mllvm', '-load=x.so')", "('-O2 -wrapper x',)", "('x.o',)", "'-wrapper'", "3",
    ],
)  # fmt: skip
def test_a_capsule_passes_no_flags_that_choose_programs_or_files(
    capsule, flags, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    capsule.head["options"]["compile.flags"] = flags
    made = Capsule.load(capsule.save(tmp_path / "b"))

    with pytest.raises(CapsuleError, match=r"Option 'compile.flags' is .* A file may set flags of"):
        replay(made)

    assert os.listdir(tmp_path) == ["b"]


def test_a_capsule_passes_flags_of_optimisation_and_instruction_sets(capsule, tmp_path):
    capsule.head["options"]["compile.flags"] = "('-O1', '-mtune=generic', '-fno-gcse')"

    assert replay(Capsule.load(capsule.save(tmp_path / "b"))).agrees


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("codegen.arrays", "('%3; touch canary',)"),
        ("codegen.numerics", "compile(cxx='touch canary')"),
        ("codegen.jam", "codegen"),
        ("codegen.numerics", "(" * 150),
        ("codegen.numerics", "-" * 30_000 + "1"),
        ("codegen.numerics", "a\0b"),
        ("codegen.passes", "(3,)"),
        ("codegen.passes", "system('touch canary')"),
    ],
)
def test_an_option_that_is_no_word_or_number_is_refused(capsule, option, text):
    capsule.head["options"][option] = text

    with pytest.raises(CapsuleError, match=f"Option '{option}' is"):
        replay(capsule)


def test_a_backend_that_is_not_here_is_refused(capsule):
    capsule.head["backend"] = "vax"

    with pytest.raises(CapsuleError, match="captured on backend 'vax'"):
        replay(capsule)


# --- members --------------------------------------------------------------------------------------


def test_an_unknown_member_is_refused_before_it_is_decompressed(file, tmp_path):
    bomb = bytes(1 << 28)
    path = rewritten(tmp_path / "b", members_of(file) | {"arrays/unused.npy": bomb})
    assert path.stat().st_size < 1 << 20

    with pytest.raises(CapsuleError, match=r"the member 'arrays/unused.npy' is unknown"):
        Capsule.load(path)


def test_an_array_that_is_larger_than_it_says_is_refused(file, tmp_path):
    members = members_of(file) | {"arrays/before/u.npy": bytes(1 << 20)}

    with pytest.raises(CapsuleError, match="the array 'before/u' has 1048576 bytes"):
        Capsule.load(rewritten(tmp_path / "b", members))


def test_arrays_beyond_the_limit_are_refused_with_their_size(file):
    with pytest.raises(CapsuleError, match="arrays take 1680 bytes, the limit is 1000") as refused:
        Capsule.load(file, limit=1000)

    assert "--limit" in refused.value.hints[0]


def test_numbers_that_a_replay_would_draw_count_too(tmp_path):
    u, out = ff.ones({I: 3, J: 3}), ff.zeros({I: 3, J: 3})
    made = Capsule.load(
        scaled.with_backend(ff.cpu).capture(u, out=out, seed=1, path=tmp_path / "a")
    )
    for row in made.head["arguments"].values():
        row["shape"] = [1 << 20, 1 << 20]

    with pytest.raises(CapsuleError, match="the limit is"):
        Capsule.load(made.save(tmp_path / "b"))


@pytest.mark.parametrize("at", [6, 8])  # flags, method of compression: local and central header
def test_encrypted_and_unknown_compression_is_refused(file, tmp_path, at):
    content = bytearray(file.read_bytes())
    central = content.find(b"PK\x01\x02")
    content[at] = content[central + at + 2] = 1 if at == 6 else 14
    (tmp_path / "b").write_bytes(content)

    with pytest.raises(CapsuleError, match=r"is encrypted|is compressed by method 14"):
        Capsule.load(tmp_path / "b")


def test_two_members_of_one_name_are_refused(file, tmp_path):
    stream = io.BytesIO(file.read_bytes())
    with zipfile.ZipFile(stream, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr(HEAD, "{}")
    (tmp_path / "b").write_bytes(stream.getvalue())

    with pytest.raises(CapsuleError, match=f"two members '{HEAD}'"):
        Capsule.load(tmp_path / "b")


# --- tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda head: head.update(extra=1), "unknown entry 'extra'"),
        (lambda head: head.update(arguments=None), "'arguments' must be a table, got nothing"),
        (lambda head: head["source"].update(line="1"), "'source.line' must be an integer"),
        (lambda head: head["arguments"].pop("u"), "the array 'after/u' is unused"),
        (lambda head: head["arguments"]["u"].update(order=[0, 0]), "does not lie on its domain"),
        (
            lambda head: head["arguments"]["u"].update(field="after/u"),
            "the result 'u' is no float64 of shape",
        ),
        (lambda head: head["arguments"]["by"].update(number="many"), "must be a number"),
        (
            lambda head: head["arguments"]["by"].update(number=2**64),
            "must be text, got an integer b",
        ),
        (lambda head: head["arguments"]["u"]["domain"][0].pop(), "must be a list of 3"),
    ],
)
def test_a_head_of_another_shape_says_where(capsule, tmp_path, change, said):
    change(capsule.head)

    with pytest.raises(CapsuleError, match=said):
        Capsule.load(capsule.save(tmp_path / "b"))


@pytest.mark.parametrize(
    "content", [b"[" * 100_000, b"{", b"null", b"[]", b"9" * 5_000, b"\xff", b" " * (17 << 20)]
)
@pytest.mark.parametrize("member", [HEAD, "parsed/syntax.json"])
def test_a_table_that_is_none_is_refused(file, tmp_path, member, content):
    with pytest.raises(CapsuleError, match="no capsule, or it is damaged"):
        Capsule.load(rewritten(tmp_path / "b", members_of(file) | {member: content}))


@pytest.mark.parametrize(
    ("port", "before", "after", "said"),
    [
        ("parsed", ["s", "smooth"], ["i", 3], "'Program.name' must be str, got int"),
        ("parsed", ["s", "smooth"], ["s", '"; system("id"); "'], "must be a word"),
        ("parsed", ["s", "mul"], ["n"], "'Operation.op' must be str, got NoneType"),
        ("parsed", ["d", "I", "horizontal"], ["s", "I"], "must be Dimension, got str"),
        ("parsed", ["d", "I", "horizontal"], ["d", "I\n", "horizontal"], "must be a word"),
    ],
)
def test_a_tree_is_what_its_classes_declare(file, tmp_path, port, before, after, said):
    member = f"{port}/syntax.json"
    rows = json.loads(members_of(file)[member])
    rows[rows.index(before)] = after

    with pytest.raises(CapsuleError, match=said):
        Capsule.load(
            rewritten(tmp_path / "b", members_of(file) | {member: json.dumps(rows).encode()})
        )


def test_a_tree_that_shares_its_parts_without_end_is_refused(file, tmp_path):
    rows = json.loads(codec.encode((1,)))
    rows += [["t", [len(rows) - 1 + at] * 2] for at in range(40)]
    rows.append(["t", [len(rows) - 1]])
    members = members_of(file) | {"variant/variant.json": json.dumps(rows).encode()}

    with pytest.raises(CapsuleError, match="no capsule, or it is damaged"):
        Capsule.load(rewritten(tmp_path / "b", members))


# --- memory that arguments share ------------------------------------------------------------------


@pytest.mark.parametrize("backend", [None, "reference"])
def test_views_of_one_array_are_views_again(tmp_path, backend):
    memory = np.random.default_rng(1).random((9, 5))
    u, out = (on(memory[at : at + 7]) for at in (0, 2))
    other = ff.zeros({I: 7, J: 5})

    made = Capsule.load(smooth.capture(u=u, by=0.7, out=out, other=other, path=tmp_path / "a"))

    assert {"memory/0", "before/other"} < set(made.arrays)
    found = replay(made, backend)
    assert found.agrees, found.text


def test_an_empty_view_and_a_neighbour_share_nothing(tmp_path):
    memory = np.zeros((14, 5))
    u, out, none = on(memory[:7]), on(memory[7:]), on(memory[2:2])

    assert shared_memory([u, out, none]) == {}


def test_shared_memory_is_aligned_as_fields_are():
    memory = np.zeros(40)[5:].reshape(7, 5)
    (found,) = set(shared_memory([on(memory[:3]), on(memory[1:])]).values())

    assert found.start % 64 == 0
    assert found.start <= memory.ctypes.data < found.start + 64


def test_a_turned_view_lies_in_the_same_memory(tmp_path):
    memory = np.random.default_rng(1).random((10, 10))
    parts = memory[::-1, 1:6][:7], memory[2:9, ::2]
    given = tuple(on(part) for part in parts)
    out = ff.zeros({I: 7, J: 5}), ff.zeros({I: 7, J: 5})

    made = Capsule.load(split.capture(given, out, path=tmp_path / "a"))

    assert replay(made).agrees
    assert [name for name in made.arrays if name.startswith("before")] == [
        "before/out.0", "before/out.1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "change", [{"offset": 1 << 40}, {"strides": [1 << 40, 8]}, {"shape": [7]}, {"memory": "none"}]
)
def test_a_view_that_leads_out_of_its_memory_is_refused(tmp_path, change):
    memory = np.zeros((9, 5))
    u, out = (on(memory[at : at + 7]) for at in (0, 2))
    path = smooth.capture(u=u, by=0.7, out=out, other=ff.zeros({I: 7, J: 5}), path=tmp_path / "a")
    made = Capsule.load(path)
    made.head["arguments"]["u"].update(change)

    with pytest.raises(
        CapsuleError, match=r"leads out of its memory|lacks the layout|is no float64"
    ):
        Capsule.load(attrs.evolve(made).save(tmp_path / "b"))
