"""Code of models that writes bindings by gt4py's nodes and templates."""

import subprocess
import sys
from typing import Any

import attrs
import pytest

import fieldforge as ff
from fieldforge.eve import FrozenNode, Node, StrEnum, codegen
from fieldforge.eve.codegen import JinjaTemplate as as_jinja

pytest.importorskip("jinja2", reason="Jinja2 is not installed: templates need it")


class Kind(StrEnum):
    REAL = "double"
    WHOLE = "int"


class Parameter(Node):
    kind: Kind
    is_array: bool = False


class Func(Node):
    name: str
    args: dict[str, Parameter]


class Kernel(Func):
    threads: int


class Library(Node):
    functions: list[Func]


class Header(codegen.TemplatedGenerator):
    def visit_Func(self, func: Func, **kwargs: Any) -> str:
        stars = {name: "*" if each.is_array else "" for name, each in func.args.items()}
        params = ", ".join(f"{arg.kind}{stars[name]} {name}" for name, arg in func.args.items())
        return self.generic_visit(func, rendered=params, **kwargs)

    Func = as_jinja("{{ prefix }} {{ name }}({{ rendered }});  // {{ _this_node.args | length }}")
    Library = as_jinja("{{ '\n'.join(functions) }}")


@pytest.fixture
def library():
    args = {"u": Parameter(kind=Kind.REAL, is_array=True), "n": Parameter(kind=Kind.WHOLE)}
    return Library(functions=[Func(name="step", args=args), Kernel(name="k", args={}, threads=3)])


def test_nodes_are_classes_with_fields_by_keyword(library):
    step, kernel = library.functions

    assert step == Func(name="step", args=dict(step.args))
    assert (kernel.name, kernel.threads) == ("k", 3)
    kernel.threads = 4
    assert [name for name, _ in kernel.iter_children_items()] == ["name", "args", "threads"]
    with pytest.raises(TypeError):
        Func("step", {})


def test_frozen_nodes_cannot_be_set():
    class Constant(FrozenNode):
        value: int

    constant = Constant(value=3)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        constant.value = 4
    assert hash(constant) == hash(Constant(value=3))


def test_generators_write_trees_by_methods_and_templates(library):
    text = Header.apply(library, prefix="int")

    assert text == "int step(double* u, int n);  // 2\nint k();  // 0"
    assert Header.apply(library.functions[1:], prefix="void") == ["void k();  // 0"]


def test_templates_are_inherited(library):
    class Other(Header):
        Library = as_jinja("{{ functions | length }}")

    assert Other.apply(library, prefix="") == "2"


def test_errors_of_templates_are_errors_of_the_package():
    with pytest.raises(codegen.TemplateDefinitionError, match="cannot be read"):
        as_jinja("{% for %}")
    with pytest.raises(codegen.TemplateRenderingError, match="'name' is undefined"):
        as_jinja("{{ name }}").render()


def test_source_without_a_formatter_stays_as_it_is():
    assert codegen.format_source("fortran", "end") == "end"
    with pytest.raises(codegen.FormattingError, match="No formatter took the source in 'fortran'"):
        codegen.format_source("fortran", "end", skip_errors=False)
    assert codegen.format_source("python", "x=1").replace(" ", "").strip() == "x=1"


def test_the_workspace_of_a_dace_backend_has_a_type():
    from fieldforge.program_processors.runners.dace.workflow import common

    assert common.ExternalWorkspace == dict[ff.DeviceType, Any]


@pytest.mark.needs_dace
def test_the_configuration_of_dace_ends_with_its_context():
    dace = pytest.importorskip(
        "dace", reason="DaCe is not installed: pip install 'fieldforge[dace]'"
    )
    from fieldforge.program_processors.runners.dace.workflow import common

    before = dace.Config.get("compiler", "cuda", "backend")
    with common.dace_context(device_type=ff.DeviceType.ROCM):
        assert dace.Config.get("compiler", "cuda", "backend") == "hip"
    assert dace.Config.get("compiler", "cuda", "backend") == before


def test_all_of_it_is_found_under_the_names_of_gt4py():
    script = (
        "import fieldforge.as_gt4py\n"
        "from gt4py import eve\n"
        "from gt4py.eve import Node, codegen\n"
        "from gt4py.eve.codegen import JinjaTemplate\n"
        "from gt4py.next.program_processors.runners.dace.workflow import common\n"
        "import gt4py.next.program_processors.runners.dace.workflow.common\n"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)

    assert done.stderr == b""
