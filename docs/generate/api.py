"""The pages of the API reference: every public name of the package, in groups."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping

import attrs

import fieldforge as ff
from fieldforge.runtime.embedded import builtins

from .text import documentation, summary, table


@attrs.frozen
class Group:
    """One page: public names, and classes of the objects that they return."""

    title: str
    intro: str
    names: tuple[str, ...]
    classes: tuple[str, ...] = ()


GROUPS: Mapping[str, Group] = {
    "fields": Group(
        "Fields and domains",
        "Dimensions, domains, fields, and the constructors of fields. See [Language](../../language.md).",
        ("Dimension", "DimensionKind", "flip_staggered", "as_non_staggered", "is_staggered",
         "Domain", "domain", "UnitRange", "unit_range",
         "Field", "Dims", "FieldConstructor", "empty", "zeros", "ones", "full", "as_field", "from_xarray", "fill_halo",
          "fill_halo_adjoint",
          "Device", "DeviceType"),
    ),
    "meshes": Group(
        "Meshes",
        "Offsets and neighbour tables. See [Language](../../language.md#unstructured-meshes).",
        ("FieldOffset", "Connectivity", "as_connectivity", "Mesh", "read_mesh"),
    ),
    "programs": Group(
        "Operators and programs",
        "Decorators, what they return, and ways to call. See [Calls](../../calls.md).",
        ("field_operator", "scan_operator", "program", "record", "threads", "workspace",
         "FrozenNamespace"),
        ("fieldforge.workflows.entries.entry_point.EntryPoint",
         "fieldforge.workflows.entries.program.Program",
         "fieldforge.workflows.entries.field_operator.FieldOperator",
         "fieldforge.workflows.entries.scan_operator.ScanOperator"),
    ),
    "reductions": Group(
        "Reductions",
        "Numbers of whole fields, with the same bits on any number of threads.",
        ("sum", "max", "min", "norm"),
    ),
    "derivatives": Group(
        "Derivatives",
        "Tangents and adjoints. See [Derivatives](../../adjoint.md).",
        ("tangent", "adjoint", "gradient", "reversed_loop", "differentiable", "transposed",
         "transposed_field", "jvp", "vjp", "explain"),
        ("fieldforge.workflows.reversing.step_adjoint.StepAdjoint",
         "fieldforge.workflows.reversing.loop.ReversedLoop",
         "fieldforge.workflows.reversing.loop.LoopReport",
         "fieldforge.workflows.reversing.differentiable.Differentiable"),
    ),
    "builds": Group(
        "Builds",
        "Builds before the time loop. See [Precompiling](../../precompiling.md).",
        ("precompile", "check", "collective", "export", "locking", "plan", "policy", "report", "setup", "tune", "use_options",
         "wait_for_compilation"),
    ),
    "gtscript": Group(
        "GTScript",
        "The decorators of `fieldforge.cartesian.gtscript` and what they return, and the storages of `fieldforge.storage`. See [GTScript](../../gtscript.md).",
        (),
        (*(f"fieldforge.workflows.cartesian.decorators.{name}"
           for name in ("stencil", "lazy_stencil", "function", "lazy_function", "enum")),
         "fieldforge.workflows.cartesian.stencil_object.StencilObject",
         "fieldforge.workflows.cartesian.frozen.FrozenStencil",
         "fieldforge.workflows.cartesian.lazy.LazyStencil",
         "fieldforge.workflows.cartesian.builder.StencilBuilder",
         *(f"fieldforge.runtime.storage.allocation.{name}"
           for name in ("empty", "zeros", "ones", "full", "from_array"))),
    ),
    "backends": Group(
        "Backends, workflows and stages",
        "How programs are built. See [Options](../options.md) and [Stages](../../stages.md).",
        ("Backend", "Patches", "ThreadBlock", "ThreadPoints", "Workflow", "stage", "Text", "Engine", "engine", "using", "Collector"),
    ),
    "gt4py": Group(
        "Names of gt4py",
        "What only programs written for gt4py import. `dir(fieldforge)` does not show these names. See [Migrating](../../migrating.md).",
        ("CartesianConnectivity", "GridType", "is_scalar_type"),
    ),
}  # fmt: skip
MEMBERS = {  # where a class also has methods that only the toolchain calls
    "EntryPoint": ("with_threads", "with_workspace", "checked", "compile", "build", "variants",
                   "trace", "capture", "workspace_size"),
    "ScanOperator": ("variants",),
    "Engine": ("run", "look"),
    "Field": ("domain", "dtype", "asnumpy", "as_scalar", "restrict", "premap", "compact",
              "array_ns", "to_xarray", "plot", "max", "min", "sum", "mean", "all", "any"),
}  # fmt: skip
NATIVE = ("Field", "Connectivity")  # classes with members of the C++ core
READY_MADE = {
    "backends": ("cpu", "gpu", "gpu_host", "dace_cpu", "dace_gpu", "reference"),
    "gt4py": ("gtfn_cpu", "gtfn_gpu", "itir_python"),
}
MODULES = ("errors", "recipes")
OPTIONS = "    options:\n      heading_level: 2\n"


def place(name: str) -> str:
    """Return where a public name is defined.

    >>> place("zeros")
    'fieldforge.runtime.fields.constructors.zeros'
    """
    thing = getattr(ff, name)
    return f"{thing.__module__}.{thing.__qualname__}"


def pages() -> dict[str, str]:
    """Return the pages by path."""
    made = {f"reference/api/{path}.md": _page(group) for path, group in GROUPS.items()}
    return {**made, "reference/api/index.md": _index(), "reference/api/modules.md": _modules()}


def _page(group: Group) -> str:
    parts = [f"# {group.title}\n\n{group.intro}\n"]
    parts += [_entry(where) for where in (*map(place, group.names), *group.classes)]
    return "\n".join(parts)


def _entry(where: str) -> str:
    """Return the directive of one name, with the members of the C++ core if it has some."""
    name = where.rpartition(".")[2]
    listed = f"[{', '.join(MEMBERS.get(name, ()))}]"
    members = f"      members: {listed}\n      inherited_members: {listed}\n" * (name in MEMBERS)
    return f"::: {where}\n{OPTIONS}{members}{_native(name) if name in NATIVE else ''}"


def _native(name: str) -> str:
    """Return a table of what a class has from the C++ core."""
    kind = getattr(ff, name)
    core = next(each for each in kind.__mro__ if each.__module__.endswith("._core"))
    rows = [(f"`{each}`", " ".join(documentation(getattr(core, each), each).split()))
            for each in dir(core) if not each.startswith("_")]  # fmt: skip
    return f"\nFrom the native core:\n\n{table(('name', 'meaning'), rows)}\n"


def _index() -> str:
    builtin = ", ".join(f"`{name}`" for name in builtins.__all__)
    parts = ["# Public names\n\nAll names of `import fieldforge as ff`, by what they are for."]
    parts += [f"## {group.title}\n\n{table(('name', 'what it is'), _rows(path, group))}"
              for path, group in GROUPS.items() if group.names]  # fmt: skip
    modules = [(f"[`ff.{name}`](modules.md)", summary(getattr(ff, name), name)) for name in MODULES]
    parts.append(f"## Modules\n\n{table(('name', 'what it is'), modules)}")
    parts.append(
        f"## Builtins\n\nTypes and functions of the language, see [Builtins](../builtins.md): {builtin}.\n"
    )
    return "\n\n".join(parts)


def _rows(path: str, group: Group) -> list[tuple[str, str]]:
    rows = [(f"[`ff.{name}`]({path}.md#{place(name)})", summary(getattr(ff, name), name))
            for name in group.names]  # fmt: skip
    rows += [(f"[`ff.{name}`](../options.md)", f"The backend '{getattr(ff, name).name}'.")
             for name in READY_MADE.get(path, ())]  # fmt: skip
    return sorted(rows)


def public_modules() -> list[str]:
    """Return the public modules, with those inside them."""
    inner = [f"{name}.{each}" for name, more in ff._MODULES.items() for each in more]
    return sorted({"errors", "errors.exceptions", "recipes", *ff._MODULES, *inner})


def _modules() -> str:
    rows = []
    for name in public_modules():
        made = ff.recipes if name == "recipes" else importlib.import_module(f"fieldforge.{name}")
        names = getattr(made, "__all__", None) or _functions(made)
        listed = ", ".join(f"`{each}`" for each in names)
        rows.append((f"`fieldforge.{name}`", summary(made, name), listed))
    return "\n".join([
        "# Modules\n\nThe public modules. Most of them give names the places that they have in gt4py;"
        " [Migrating](../../migrating.md) lists both.\n",
        table(("module", "what it holds", "names"), rows), "",
    ])  # fmt: skip


def _functions(module: object) -> list[str]:
    """Return the public functions that a module without `__all__` defines."""
    own = getattr(module, "__name__", "")
    return [name for name, each in vars(module).items()
            if not name.startswith("_") and inspect.isfunction(each) and each.__module__ == own]  # fmt: skip
