"""A lock file is written by a dry run, and read by those who build, check and compare."""

import json
import sys

import pytest

import fieldforge as ff
from fieldforge.stages.codegen.pass_list import name_of
from fieldforge.workflows.batches.addresses import AddressError, find, load_module
from fieldforge.workflows.batches.lock_file import LockFileError, locking, read, write

MODEL = """
import fieldforge as ff

I = ff.Dimension("I")
Line = ff.Field[ff.Dims[I], ff.float64]

def keep(program):
    return program

@ff.field_operator(backend=ff.cpu)
def rise(u: Line) -> Line:
    return u(I + 1) - u

@ff.program(backend=ff.cpu)
def climb(u: Line, n: ff.int32, out: Line):
    rise(u, out=out, domain={I: (0, n)})

def set_up():
    flow = ff.cpu.workflow.insert_after("lower", keep)
    rise.with_backend(ff.cpu.with_workflow(flow)).compile()
    climb.with_backend(BACKEND).compile(n=[3, 4])

BACKEND = ff.cpu
"""
TO_CODEGEN = "parse -> lower -> codegen(target=CpuTarget(isa='x86-64-v3')"


@pytest.fixture
def model(tmp_path, own_engine):
    """Give the module of a model in a file."""

    def make(body=MODEL):
        file = tmp_path / "climbing.py"
        file.write_text(body)
        return load_module(str(file))

    return make


@pytest.fixture
def lock(tmp_path):
    return tmp_path / "programs.lock"


@pytest.fixture
def call(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return call


def test_a_dry_run_builds_nothing_and_writes_every_variant(model, lock, seen):
    made = model()
    seen.events.clear()

    with locking(lock):
        made.set_up()

    assert "compile" not in seen.ran()
    rows = read(lock)
    assert [row.program for row in rows] == [
        "climbing.py:climb",
        "climbing.py:climb",
        "climbing.py:rise",
    ]
    assert [row.variant.static for row in rows] == [(("n", "3"),), (("n", "4"),), ()]
    assert rows[2].passes == {"keep": "climbing.py:keep"}
    assert "target=CpuTarget(isa=" in rows[0].workflow


def test_a_users_loop_pass_is_found_again(model, lock, call):
    body = MODEL.replace(
        "def keep(program):",
        "def keep_loops(kernel, rules):\n    return kernel\n\ndef keep(program):",
    )
    made = model(body.replace("BACKEND = ff.cpu", "BACKEND = ff.cpu.with_passes(tile=keep_loops)"))

    with locking(lock):
        made.climb.with_backend(made.BACKEND).compile()

    (row,) = read(lock)
    assert row.passes == {"keep_loops": "climbing.py:keep_loops"}
    passes = row.order(lock.parent).backend.workflow["codegen"].passes
    assert name_of(passes[0]) == "keep_loops"
    assert call("build", lock).exit_code == 0
    assert call("check", lock).output == "1 of 1 builds are in the store.\n"


def test_what_was_called_in_the_block_is_recorded_and_built(model, lock):
    made = model()

    with locking(lock):
        out = ff.zeros({made.I: 2})
        made.rise(ff.as_field([made.I], [1.0, 3.0, 6.0]), out=out)

    assert list(out.asnumpy()) == [2.0, 3.0]
    (row,) = read(lock)
    assert row.program == "climbing.py:rise"
    assert row.key is not None


def test_a_program_keeps_its_kind_of_grid(model, lock, call, seen):
    made = model()
    with locking(lock):
        made.rise.compile()
        made.rise.with_grid_type("unstructured").compile()

    plain, told = read(lock)
    assert (plain.grid_type, told.grid_type) == (None, "unstructured")
    assert told.order(lock.parent).definition.grid_type == "unstructured"
    assert call("build", lock).exit_code == 0
    seen.events.clear()
    with ff.policy("must_hit"):
        made.rise.with_grid_type("unstructured").compile()
        made.rise.compile()
        ff.wait_for_compilation()
    assert "compile" not in seen.ran()


def test_equal_set_ups_give_equal_files(model, lock, tmp_path):
    made = model()

    for path in (lock, tmp_path / "again.lock"):
        with locking(path):
            made.set_up()

    assert lock.read_bytes() == (tmp_path / "again.lock").read_bytes()


def test_builds_of_a_lock_file_are_what_the_model_finds(model, lock, call, seen):
    made = model()
    with locking(lock):
        made.set_up()

    assert call("check", lock).exit_code == 1
    assert call("build", lock).exit_code == 0
    checked = call("check", lock)
    seen.events.clear()
    with ff.policy("must_hit"):
        made.set_up()
        ff.wait_for_compilation()

    assert (checked.exit_code, checked.output) == (0, "3 of 3 builds are in the store.\n")
    assert "compile" not in seen.ran()


def test_nothing_is_loaded_by_a_build_of_a_lock_file(model, lock, call, seen):
    with locking(lock):
        model().set_up()

    call("build", lock)

    assert "compile" in seen.ran()
    assert "decorate" not in seen.ran()


def test_check_says_what_has_changed(model, lock, call):
    made = model()
    with locking(lock):
        made.set_up()
    call("build", lock)
    made.BACKEND = ff.cpu.with_options(fold=False)
    with locking(lock):
        made.set_up()

    done = call("check", lock)

    assert done.exit_code == 1
    assert done.output.splitlines()[-1] == "1 of 3 builds are in the store."
    assert "option 'fold' of stage 'lower' changed from True to False" in done.output


def test_diff_compares_two_files_line_by_line(model, lock, call, tmp_path):
    made = model()
    with locking(lock):
        made.set_up()
    made.BACKEND = ff.cpu.with_options(fold=False)
    with locking(tmp_path / "new.lock"):
        made.set_up()

    shown = call("diff", lock, tmp_path / "new.lock").output

    assert shown.count("\n- climbing.py:climb") + shown.startswith("- climbing.py:climb") == 2
    assert shown.count("+ climbing.py:climb") == 2
    assert "lower(fold=False" in shown
    assert shown.endswith("1 builds are the same in both.\n")


def test_diff_says_what_an_edit_would_rebuild_and_how_long_that_took(model, lock, call):
    made = model()
    with locking(lock):
        made.set_up()
    call("build", lock)
    with locking(lock):
        made.set_up()
    model(body=MODEL.replace("u(I + 1) - u", "u(I + 1) - u * 2.0"))

    shown = call("diff", lock).output

    assert "    -    return u(I + 1) - u\n    +    return u(I + 1) - u * 2.0" in shown
    assert "3 of 3 builds have changed, about" in shown


def edited(lock, **changes):
    """Change the first row of a lock file."""
    body = json.loads(lock.read_text())
    body["programs"] = [body["programs"][0] | changes]
    lock.write_text(json.dumps(body))
    return lock


@pytest.fixture
def one(model, lock):
    """Write a lock file of one program in a folder, and a program that must not run beside it."""
    made = model()
    folder = lock.parent
    (folder / "outside.py").write_text(f"open({str(folder / 'canary')!r}, 'w').close()\n")
    with locking(lock):
        made.rise.compile()
    inner = folder / "inner"
    inner.mkdir()
    (inner / "climbing.py").write_text(MODEL)
    (inner / "link.py").symlink_to(folder / "outside.py")
    return lock.rename(inner / "programs.lock")


@pytest.mark.parametrize("address", ["../outside.py:p", "{folder}/outside.py:p", "link.py:p"])
@pytest.mark.parametrize("key", ["program", "passes"])
def test_a_lock_file_imports_no_files_outside_its_folder(one, call, address, key):
    address = address.format(folder=one.parent.parent)
    edited(one, **{key: address if key == "program" else {"keep": address}})

    done = call("check", one)

    assert done.exit_code == 1
    assert "leads out of the folder" in done.output
    assert not (one.parent.parent / "canary").exists()


@pytest.mark.parametrize(
    "address",
    ["", ":", "a:", ":p", "a b:p", "a.py:p()", "a\0.py:p", "-.py:p-", f"{'x' * 5000}.py:p"],
)
def test_what_is_no_address_is_refused(one, address):
    (row,) = read(edited(one, program=address))

    with pytest.raises(AddressError, match=r"is no address|There is no file"):
        row.order(one.parent)


@pytest.mark.parametrize("address", ["os:system", "subprocess:Popen", "fieldforge:ff"])
def test_a_workflow_calls_nothing_that_a_lock_file_names(one, call, address, monkeypatch):
    monkeypatch.chdir(one.parent)
    edited(one, passes={"made": address}, workflow="parse -> made(args='touch canary')")

    done = call("check", one)

    assert done.exit_code == 1
    assert "is no pass: expected a function" in done.output or "has no 'ff'" in done.output


@pytest.mark.parametrize(
    ("workflow", "said"),
    [
        ("parse -> keep('touch canary')", "Expected 'stage\\(option=value\\)'"),
        ("parse -> keep(program=1)", "Expected 'stage\\(option=value\\)'"),
        ("parse -> compile(cxx='touch canary')", "There is no option 'cxx'"),
        (f"{TO_CODEGEN}) -> compile(flags=('-wrapper', 'sh'))", "A file may set flags of"),
        (f"{TO_CODEGEN}, launch_bounds='1)')", "There is no option 'launch_bounds'"),
        ("parse -> " + "(" * 150, "Expected"),
    ],
)
def test_a_workflow_sets_what_a_file_may_set_only(one, workflow, said):
    (row,) = read(edited(one, passes={"keep": "climbing.py:keep"}, workflow=workflow))

    with pytest.raises(ff.errors.FieldforgeError, match=said):
        row.order(one.parent)


@pytest.mark.parametrize(
    "change",
    [
        {"workflow": None}, {"program": 3}, {"passes": ["a"]}, {"variant": {"unit": [["u"]]}},
        {"variant": {"unit": [["u", {}]]}}, {"seconds": "long"}, {"grid_type": "round"},
        {"more": 1},
    ],
)  # fmt: skip
def test_a_row_of_another_shape_is_refused(one, change):
    with pytest.raises(LockFileError, match=r"cannot be read as a lock file: .*programs"):
        read(edited(one, **change))


def test_no_lock_file_is_written_that_could_not_be_read(model, lock, own_engine, monkeypatch):
    made = model()
    monkeypatch.setitem(sys.modules, "__main__", made)
    monkeypatch.setattr(made.rise.__definition__.function, "__module__", "__main__")
    (lock.parent / "inner").mkdir()

    with pytest.raises(AddressError, match="outside the folder"), locking(lock.parent / "inner/a"):
        made.rise.compile()


@pytest.mark.parametrize(
    "text",
    ["", "[]", "null", '{"format": 1}', '{"format": 1, "programs": [{}]}', "{", "[" * 100_000],
)
def test_a_damaged_lock_file_is_refused(lock, text):
    lock.write_text(text)

    with pytest.raises(LockFileError, match="cannot be read as a lock file"):
        read(lock)


def test_a_lock_file_of_another_format_is_refused(lock):
    lock.write_text(json.dumps({"format": 9, "programs": []}))

    with pytest.raises(LockFileError, match="has format 9, expected 1"):
        read(lock)


def test_a_lock_file_without_programs_is_one(lock):
    write(lock, [])

    assert read(lock) == ()


def test_a_program_made_in_a_function_has_no_address(lock, own_engine):
    @ff.field_operator(backend=ff.cpu)
    def inner(u: ff.float64) -> ff.float64:
        return u

    with pytest.raises(AddressError, match="is defined inside a function"), locking(lock):
        inner.compile()


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("no.such.module:p", "Module 'no.such.module' cannot be imported"),
        ("nowhere.py:p", "There is no file 'nowhere.py'"),
        ("fieldforge.examples.diffusion:nothing", "has no 'nothing'"),
    ],
)
def test_an_address_that_leads_nowhere_is_refused(address, words):
    with pytest.raises(AddressError, match=words):
        find(address)


def test_programs_that_were_compiled_before_are_in_the_file(model, lock, tmp_path):
    climbing, before = model(), tmp_path / "before.lock"
    with locking(before):
        climbing.rise.compile()
    climbing.rise.build()

    with locking(lock):
        climbing.rise.compile()

    assert [each.variant for each in read(lock)] == [each.variant for each in read(before)]
    with locking(lock, dry=False):
        climbing.rise.build()
    assert len(read(lock)) == 1


def test_a_file_without_programs_is_warned_of(model, lock):
    climbing = model()
    climbing.rise.build()
    u, out = ff.ones({climbing.I: 4}), ff.zeros({climbing.I: 3})

    told = pytest.warns(UserWarning, match=r"lists no program: .* 'program\.compile\(\)', into")
    with told, locking(lock):
        climbing.rise(u, out=out)
