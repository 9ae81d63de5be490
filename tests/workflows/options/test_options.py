"""The option database: which entry wins, where a value comes from, mistakes with file and line."""

import pytest

import fieldforge as ff
from fieldforge.errors import OptionError
from fieldforge.runtime.process import settings
from fieldforge.workflows.backends.backend import BACKENDS
from fieldforge.workflows.options import machine_names
from fieldforge.workflows.options.database import database, use_options
from fieldforge.workflows.options.schema import schema_of
from fieldforge.workflows.options.tags import backend_for

from ...dimensions import Line

DIFFUSE = "model.dycore:diffuse"


@ff.field_operator
def doubled(u: Line) -> Line:
    return u + u


@ff.program
def double(u: Line, out: Line):
    doubled(u, out=out)


@pytest.fixture
def model(tmp_path):
    def write(text, name="model.toml"):
        file = tmp_path / name
        file.write_text(text)
        use_options(file)
        return file

    return write


def value_of(name, program=DIFFUSE, archs=("x86-64-v3",), backend="cpu", call=None):
    found = database().effective(BACKENDS[backend], program, archs, call)
    setting = next(each for each in found if each.option.name == name)
    return setting.value, str(setting.origin).rpartition("/")[2]


def test_the_schema_is_made_of_the_stages():
    option = schema_of(ff.cpu)["codegen.parallel_from"]

    assert option.kind.said == "a whole number from 0 to 4611686018427387904, or None"
    assert option.default is None
    assert option.about.startswith("loops over fewer points than this run on one thread.")
    assert "codegen.target" not in schema_of(ff.cpu).names


def test_without_files_everything_is_a_default():
    assert value_of("codegen.parallel_from") == (None, "default")
    assert database().applied(ff.cpu, DIFFUSE) is ff.cpu


def test_an_option_of_one_stage_needs_no_quotes(model):
    model("[[when]]\nset.codegen.numerics = 'strict'\n")

    assert value_of("codegen.numerics") == ("strict", "model.toml:2")
    assert value_of("lower.numerics") == ("contract", "default")


def test_layers_overrule_each_other_in_order(model, tmp_path, setting):
    site = tmp_path / "site.toml"
    site.write_text('[[when]]\nprogram = "diffuse"\nset.parallel_from = 1\nset.jam = false\n')
    model("[[when]]\nset.parallel_from = 2\nset.prefetch = false\n")
    (tmp_path / "model.tuned.toml").write_text("[[when]]\nset.parallel_from = 3\n")
    setting(site_options=site)

    assert value_of("codegen.parallel_from") == (3, "model.tuned.toml:2")
    assert value_of("codegen.jam") == (False, "site.toml:4")
    setting(options=(("parallel_from", "4"),))
    assert value_of("codegen.parallel_from") == (4, "environment FIELDFORGE_OPTIONS")
    assert value_of("codegen.parallel_from", call={"parallel_from": 5}) == (5, "call")
    found = database().effective(ff.cpu, DIFFUSE, ())
    setting = next(each for each in found if each.option.short == "parallel_from")
    assert [value for value, _ in setting.overruled] == [3, 2, 1, None]


def test_the_environment_is_read():
    found = settings.Settings.from_env({"FIELDFORGE_OPTIONS": "parallel_from=0; jam=false"})

    assert found.options == (("parallel_from", "0"), ("jam", "false"))
    with pytest.raises(OptionError, match="must be options such as"):
        settings.Settings.from_env({"FIELDFORGE_OPTIONS": "parallel_from"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[when]]\nset.parallel_form = 1\n", r"toml:2: there is no option.*\n.*'parallel_from'"),
        ("[[when]]\n\nset.jam = 1\n", r"toml:3: Option 'codegen.jam' takes true or false, got 1"),
        ("[[when]]\nprogramm = 'x'\n", r"toml:2: there is no key 'programm'.*\n.*'program'"),
        ("[[when]]\nbackend = 'cpp'\n", r"toml:1: no backend has a name like 'cpp'"),
        ("[[when]]\nuse = 'dacecpu'\n", r"toml:2: there is no backend 'dacecpu'.*\n.*'dace_cpu'"),
        ("[[when]]\nset.numerics = 'loose'\n", r"toml:2: Option '.*numerics' takes .*'strict'"),
        ("[[if]]\n", r"expected tables '\[\[when\]\]', got 'if'"),
        ("[[when]\n", "cannot be read"),
        ("a = " + "[" * 5_000, "cannot be read"),
        ("a = " + "9" * 5_000, "cannot be read"),
        ("[[when]]\nset.flags = ['-wrapper', 'sh']\n", r"toml:2: A file may set flags of .*'-wrap"),
        ("[[when]]\nset.arrays = ['%3; x']\n", r"toml:2: Option .*takes names of values such as"),
    ],
)
def test_mistakes_are_errors_with_file_and_line(model, text, message):
    with pytest.raises(OptionError, match=message):
        model(text)


def test_flags_that_a_file_may_not_set_are_set_in_the_environment(model, setting):
    model("[[when]]\nset.flags = ['-O2', '-mtune=generic']\n")
    assert value_of("compile.flags") == (("-O2", "-mtune=generic"), "model.toml:2")

    setting(options=(("flags", "['-DX']"),))
    assert value_of("compile.flags") == (("-DX",), "environment FIELDFORGE_OPTIONS")


def test_a_tuned_file_changes_no_results(model, tmp_path):
    (tmp_path / "model.tuned.toml").write_text("[[when]]\nset.numerics = 'fast'\n")

    with pytest.raises(OptionError, match=r"tuned.toml:2: Option '.*numerics' cannot be tuned"):
        model("")


def test_a_value_that_the_stage_refuses_names_its_line(model):
    model("[[when]]\nbackend = 'cpu'\nset.passes = ['tille']\n")

    with pytest.raises(OptionError, match=r"model.toml:3: .*tille"):
        backend_for("cpu", DIFFUSE)


def test_a_backend_object_is_taken_as_it_is(model):
    model("[[when]]\nset.parallel_from = 0\n")

    assert backend_for(ff.cpu, DIFFUSE) is ff.cpu
    assert double.with_backend(ff.cpu).backend is ff.cpu


def test_the_effective_options_are_in_the_lock_file(model, tmp_path, monkeypatch):
    from fieldforge.workflows.batches.lock_file import read

    source = tmp_path / "doubling.py"
    source.write_text(MODEL)
    model("[[when]]\nset.parallel_from = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    import doubling

    with ff.locking(tmp_path / "programs.lock"):
        ff.setup(doubling.double, backend="cpu")

    assert "parallel_from=7" in read(tmp_path / "programs.lock")[0].workflow


MODEL = """
import fieldforge as ff
I = ff.Dimension("I")
Line = ff.Field[ff.Dims[I], ff.float64]

@ff.field_operator
def doubled(u: Line) -> Line:
    return u + u

@ff.program
def double(u: Line, out: Line):
    doubled(u, out=out)
"""


# --- blocks by program and architecture -----------------------------------------------------------

BLOCKS = """\
[[when]]
program = "diffuse"
backend = "GPU"
arch = "A100"
set.block = {x = 64, y = 4}

[[when]]
program = "diffuse"
arch = "gh200"
set.block = {x = 128, y = 2}
set.block_1d.x = 512
set.unaligned = true

[[when]]
arch = "CDNA*"
set.points = {x = 2, y = 2}
set.codegen.column_block.x = 32

[[when]]
backend = "gtfn_gpu"
arch = "sm_80"
[when.set.patches]
elements = 192
levels = 16
"""


def test_a_block_size_by_program_and_gpu(model, monkeypatch):
    model(BLOCKS)
    monkeypatch.setattr(
        machine_names, "_device", lambda: (None, ())
    )  # a GPU that is here is one product
    on = {name: backend_for(f"gpu:{name}", DIFFUSE).options for name in ("A100", "GH200", "MI250")}

    assert on["A100"]["codegen.block"] == ff.ThreadBlock(64, 4)
    assert on["A100"]["codegen.patches"] == ff.Patches(192, levels=16)
    assert on["GH200"]["codegen.block"] == ff.ThreadBlock(128, 2)
    assert on["GH200"]["codegen.unaligned"] is True
    assert on["MI250"]["codegen.points"] == ff.ThreadPoints(2, 2)
    assert on["MI250"]["codegen.column_block"] == ff.ThreadBlock(32)
    assert on["MI250"]["codegen.block"] == ff.ThreadBlock()
    assert backend_for("dace_gpu:H100", DIFFUSE).options["codegen.block_1d"] == ff.ThreadBlock(512)
    assert backend_for("gpu:sm_80", "m:advect").options["codegen.block"] == ff.ThreadBlock()


def test_a_gpu_that_is_here_has_the_name_of_its_own_product_only(monkeypatch):
    from fieldforge.stages.gpu_target import GpuTarget

    monkeypatch.setattr(machine_names, "_device", lambda: ("sm_90", ("NVIDIA", "GH200", "480GB")))

    assert machine_names.names_of(GpuTarget("sm_90")) == ("Hopper", "GH200", "sm_90")
    assert machine_names.names_of(GpuTarget("sm_80")) == ("Ampere", "A100", "A30", "sm_80")


def test_a_list_of_numbers_comes_from_the_environment(setting):
    given = (
        ("block", "{x=32, y=4}"),
        ("arrays", "(%3, %12)"),
        ("block_1d", "{x=64}"),
        ("tile_columns", "4"),
    )
    setting(options=given)

    options = backend_for("gpu", DIFFUSE).options

    assert options["codegen.block"] == ff.ThreadBlock(32, 4)
    assert options["codegen.arrays"] == ("%3", "%12")


# --- tags -----------------------------------------------------------------------------------------


def test_tags_have_any_case():
    assert backend_for("GTFN_CPU", DIFFUSE) is ff.cpu
    assert backend_for("GPU", DIFFUSE) is ff.gpu
    assert backend_for({"backend": "DACE", "device": "CPU"}, DIFFUSE) is ff.dace_cpu
    assert backend_for("None", DIFFUSE) is None


def test_the_target_is_chosen_by_tag_setting_and_setup(model, monkeypatch, setting):
    from fieldforge.workflows.backends.pipelines import gpu

    assert backend_for("gpu:gfx90a", DIFFUSE).target.archs == ("gfx90a",)
    step = ff.setup(double, backend="gpu", options={"target": "A100"}, precompile=False)
    assert step.backend.target.archs == ("sm_80",)
    compiler = dict(step.backend.workflow.nodes)["compile"]
    assert compiler.target.archs == ("sm_80",)
    setting(gpu_arch="mi300x")
    assert dict(gpu().nodes)["codegen"].target.archs == ("gfx942",)
    with pytest.raises(OptionError, match=r"'target'.*got 'A1000'.*\n.*mean 'A100'"):
        backend_for("gpu:A1000", DIFFUSE)
    model("[[when]]\nbackend = 'gpu'\narch = 'A100'\nuse = 'dace_gpu'\n")
    chosen = backend_for({"device": "gpu", "target": "A100"}, DIFFUSE)
    assert (chosen.name, chosen.target.archs) == ("dace_gpu", ("sm_80",))


def test_tags_name_backends_and_devices():
    assert backend_for("cpp_cpu", DIFFUSE) is ff.cpu
    assert backend_for("dace_cpu", DIFFUSE) is ff.dace_cpu
    assert backend_for(ff.DeviceType.CPU, DIFFUSE) is ff.cpu
    assert backend_for("gpu", DIFFUSE).name == "gpu"
    assert backend_for("embedded", DIFFUSE) is None
    with pytest.raises(OptionError, match=r"no backend 'cppcpu'.*\n.*mean 'cpp_cpu'"):
        backend_for("cppcpu", DIFFUSE)


def test_the_database_chooses_the_backend_of_a_device(model):
    model("[[when]]\nprogram = 'diffuse'\nbackend = 'cpu'\nuse = 'dace_cpu'\n")

    assert backend_for("cpu", DIFFUSE).name == "dace_cpu"
    assert backend_for("cpu", "m:advect").name == "cpu"
    assert backend_for("cpp_cpu", DIFFUSE).name == "cpu"


def test_a_backend_of_another_device_is_refused(model):
    model("[[when]]\nbackend = 'cpu'\nuse = 'gpu'\n")

    with pytest.raises(OptionError, match=r"model.toml:3: backend 'gpu' does not run on .* 'cpu'"):
        backend_for("cpu", DIFFUSE)


def test_descriptors_have_an_equal():
    made = []

    def factory(device, **rest):
        made.append((device, rest))
        return ff.cpu

    descriptor = {"backend_factory": factory, "device": ff.DeviceType.CPU, "auto_optimize": True}
    assert backend_for(descriptor, DIFFUSE) is ff.cpu
    assert made == [(ff.DeviceType.CPU, {"auto_optimize": True})]
    found = backend_for({"device": ff.DeviceType.CPU, "parallel_from": 3}, DIFFUSE)
    assert found.options["codegen.parallel_from"] == 3
    assert "backend_factory" in descriptor


# --- commands -------------------------------------------------------------------------------------


def test_show_names_the_file_and_line_of_each_value(call, tmp_path):
    (tmp_path / "doubling.py").write_text(MODEL)
    file = tmp_path / "model.toml"
    file.write_text("[[when]]\nset.jam = false\n\n[[when]]\narch='sm_90'\nset.fold = false\n")

    done = call("options", "show", f"{tmp_path}/doubling.py:double", "--file", file, "--why")

    assert done.exit_code == 0, done.output
    rows = [line.split() for line in done.output.splitlines()]
    assert ["codegen.jam", "false", f"{file}:2"] in rows
    assert ["not", "true", "default"] in rows
    assert ["lower.fold", "true", "default"] in rows
    done = call(
        "options", "show", f"{tmp_path}/doubling.py:double", "--file", file, "--arch", "sm_90"
    )
    assert ["lower.fold", "false", f"{file}:6"] in [
        line.split() for line in done.output.splitlines()
    ]


def test_show_refuses_an_architecture_that_no_machine_has(call, tmp_path):
    (tmp_path / "doubling.py").write_text(MODEL)
    words = ("options", "show", f"{tmp_path}/doubling.py:double")

    for given in (("--arch", "sm_800"), ("--backend", "gpu:sm_800")):
        done = call(*words, *given)

        assert done.exit_code == 1
        assert "There is no architecture 'sm_800'." in done.output
        assert "Did you mean 'sm_80'? Known are 'A10', 'A100'," in done.output
    assert call(*words, "--arch", "GH200").exit_code == 0
    assert call(*words, "--arch", "ZNVER4").exit_code == 0


def test_an_entry_for_an_architecture_that_nobody_has_is_unused(call, tmp_path):
    file = tmp_path / "model.toml"
    file.write_text(
        "[[when]]\narch = 'A1000'\nset.jam = false\n\n"
        "[[when]]\narch = ['gh200', 'znver9']\nset.jam = false\n"
    )

    done = call("options", "check", file)

    assert done.exit_code == 1
    assert done.output == (
        f"{file}:1: unused: decides nothing for every program\n1 of 2 entries are used.\n"
    )


def test_check_lists_what_is_unused_and_refuses_what_is_wrong(call, tmp_path):
    (tmp_path / "doubling.py").write_text(MODEL)
    file = tmp_path / "model.toml"
    file.write_text(
        "[[when]]\nprogram = 'double'\nset.jam = false\n\n"
        "[[when]]\nprogram = 'dubble'\nset.jam = false\n\n"
        "[[when]]\nset.jam = true\n"
    )

    assert call("options", "check", file).output == "3 of 3 entries are used.\n"
    done = call("options", "check", file, tmp_path / "doubling.py")
    assert done.exit_code == 1
    assert "model.toml:5: unused: decides nothing for dubble" in done.output
    file.write_text("[[when]]\nset.jamm = true\n")
    done = call("options", "check", file)
    assert done.exit_code == 1
    assert "model.toml:2: there is no option 'jamm'" in done.output
    assert "'jam'" in done.output
    assert "'codegen.jam'" not in done.output


def test_check_lists_old_spellings(call, tmp_path):
    file = tmp_path / "model.toml"
    file.write_text(
        "[[when]]\nbackend = 'gpu'\nset.block = [32, 4]\nset.codegen.tiles = 8\n"
        "set.patches = false\n"
    )

    lines = call("options", "check", file).output.splitlines()

    assert lines == [
        f"{file}:3: Option 'codegen.block' takes numbers by name: write 'ThreadBlock(x=32, y=4)', "
        "or '{x = 32, y = 4}' in a file, instead of '[32, 4]'.",
        f"{file}:4: Option 'codegen.tiles' is now 'tile_columns': write that name instead.",
        "1 of 1 entries are used.",
    ]


def test_patterns_may_name_the_module_and_lists(model):
    model("""\
[[when]]
program = ["model.dycore:*", "other"]
arch = ["sm_9*", "gfx942"]

[when.set]
"codegen.numerics" = "strict"
stream_from = 0
""")

    assert value_of("codegen.numerics", archs=["sm_90"]) == ("strict", "model.toml:6")
    assert value_of("codegen.stream_from", archs=["gfx942"]) == (0, "model.toml:7")
    assert value_of("codegen.numerics", archs=["sm_80"])[0] == "contract"
    assert value_of("codegen.numerics", "model.physics:x", archs=["sm_90"])[0] == "contract"


def test_a_descriptor_may_name_a_family_of_backends():
    descriptor = {"backend": "cpp", "device": ff.DeviceType.CPU, "jam": False}

    found = backend_for(descriptor, DIFFUSE)

    assert (found.name, found.options["codegen.jam"]) == ("cpu", False)
    assert backend_for({"backend": "dace"}, DIFFUSE) is ff.dace_cpu
    assert backend_for({"backend": "dace", "device": "gpu"}, DIFFUSE).name == "dace_gpu"
    assert backend_for({"backend": "reference", "device": "cpu"}, DIFFUSE) is ff.reference
    with pytest.raises(OptionError, match="no backend 'dase'"):
        backend_for({"backend": "dase"}, DIFFUSE)
