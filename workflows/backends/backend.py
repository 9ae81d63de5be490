"""`Backend`: a workflow with a name, a target and an allocator; the ready-made ones, by name.

A row of the ready-made ones has the name, the aliases, the function that makes the workflow, which
stands in `pipelines.py`, and the allocator of fields. The first use of a backend makes its
workflow, because settings may change until then.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final, Self

from ...runtime.fields.field_constructor import FieldsOnCPU, FieldsOnGPU, GuardedFields
from ...runtime.process import OptionError, classes
from ...stages.codegen.pass_list import PassName, edited
from ...stages.option_kinds import old_names
from ..graph.graph import Workflow
from ..graph.options import name_of_option, options_of, with_option
from . import pipelines

Recipe = Callable[[], Workflow]
TARGET: Final = "target"  # the option that names the machine


@classes.frozen(slots=False, eq=False)
class Backend:
    """The workflow that builds programs, and the allocator of their fields.

    The workflow may be given as a function that makes it, so that a ready-made backend does not
    probe the machine before its first use.

    >>> import fieldforge as ff
    >>> ff.cpu.name, ff.cpu.workflow.names[0]
    ('cpu', 'parse')
    """

    name: str
    _made: Workflow | Recipe = classes.field(repr=False)
    allocator: Any = classes.field(default=None, repr=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Backend):
            return NotImplemented
        if self is other:
            return True
        named = (self.name, self.allocator) == (other.name, other.allocator)
        return named and (self._made == other._made or self.workflow == other.workflow)

    def __hash__(self) -> int:
        return hash(self.name)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the workflow that the recipe made: another machine makes its own."""
        return {field.name: getattr(self, field.name) for field in classes.fields(type(self))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    @cached_property
    def workflow(self) -> Workflow:
        """The stages that programs go through."""
        return self._made if isinstance(self._made, Workflow) else self._made()

    @property
    def target(self) -> Any:
        """The machine that programs are built for, None where that does not matter."""
        targets = (getattr(stage, TARGET, None) for _, stage in self.workflow.nodes)
        return next((target for target in targets if target is not None), None)

    @property
    def options(self) -> dict[str, Any]:
        """Every option of every stage, as 'stage.option'."""
        return {
            f"{name}.{option}": getattr(stage, option)
            for name, stage in self.workflow.nodes
            for option in options_of(stage)
        }

    @property
    def old_names(self) -> dict[str, str]:
        """Deprecated names of options, as 'stage.option', each with the one that replaced it."""
        return {
            f"{name}.{was}": f"{name}.{now}"
            for name, stage in self.workflow.nodes
            for was, now in old_names(type(stage)).items()
        }

    @property
    def __gt_allocator__(self) -> Any:
        """The allocator of fields for this backend."""
        return self.allocator

    def with_options(self, **options: Any) -> Self:
        """Set options by name on every stage that has them; an unknown one is an error.

        `with_options(parallel_from=0)` sets it wherever it exists,
        `with_options(**{"lower.fold": False})` on one stage.

        >>> import fieldforge as ff
        >>> strict = ff.cpu.with_options(numerics="strict")
        >>> strict.options["codegen.numerics"], ff.cpu.options["codegen.numerics"]
        ('strict', 'contract')
        """
        stages = dict(self.workflow.nodes)
        for option, value in options.items():
            for name in self._owners(option):
                own = name_of_option(type(stages[name]), option.rpartition(".")[2])
                stages[name] = with_option(stages[name], own, value)
        before = dict(self.workflow.nodes)
        # By identity: options such as the path of the compiler do not count for equality.
        changed = {name: stage for name, stage in stages.items() if stage is not before[name]}
        return self.with_workflow(self.workflow.replace(**changed))

    def with_passes(
        self,
        *added: PassName,
        before: str | None = None,
        after: str | None = None,
        **changed: PassName | None,
    ) -> Self:
        """Replace, remove or add passes over loops of the code generator.

        A pass is a named function from `Kernel` and `Rules` to `Kernel`; its source is in the key.
        `with_passes(my_tile, after="tile")` adds one, `with_passes(tile=my_tile)` replaces one,
        `with_passes(stream=None)` removes one. `options["codegen.passes"]` lists them.

        Raises:
            OptionError: for a pass that does not run here, or that has no name.

        """
        changed_lists = {
            own: edited(passes, added, changed, before, after)
            for own, passes in self.options.items()
            if own.endswith(".passes")
        }
        if not changed_lists:
            raise OptionError(f"Backend '{self.name}' has no passes over loops.")
        return self.with_options(**changed_lists)

    def with_workflow(self, workflow: Workflow) -> Self:
        """Use another workflow, such as `backend.workflow.insert_after("lower", my_pass)`."""
        return classes.evolve(self, made=workflow)

    def _owners(self, option: str) -> list[str]:
        known = list(self.options)
        owners = [
            own.rpartition(".")[0]
            for own in (*known, *self.old_names)
            if option in (own, own.rpartition(".")[2])
        ]
        if not owners:
            raise OptionError(
                f"Backend '{self.name}' has no option '{option}'.",
                name=option,
                known=dict.fromkeys(own.rpartition(".")[2] for own in known),
            )
        return owners


@classes.frozen
class Row:
    """One backend."""

    name: str
    pipeline: Callable[[], Workflow]
    allocator: Any = None
    aliases: tuple[str, ...] = ()

    def backend(self, **options: Any) -> Backend:
        """Return the backend, with options of its stages."""
        made = Backend(self.name, self.pipeline, self.allocator)
        return made.with_options(**options) if options else made


CPU: Final = Row("cpu", pipelines.cpu, FieldsOnCPU(), aliases=("gtfn_cpu", "cpp_cpu"))
DACE_CPU: Final = Row("dace_cpu", pipelines.dace, FieldsOnCPU())
ROW_STEPS: Final = Row("rows", pipelines.rows, FieldsOnCPU())
REFERENCE: Final = Row("reference", pipelines.reference, FieldsOnCPU(), aliases=("itir_python",))
GPU: Final = Row("gpu", pipelines.gpu, FieldsOnGPU(), aliases=("gtfn_gpu", "cpp_gpu"))
GPU_HOST: Final = Row("gpu-host", pipelines.gpu_host, GuardedFields())
DACE_GPU: Final = Row("dace_gpu", pipelines.dace_gpu, FieldsOnGPU())
DACE_GPU_HOST: Final = Row("dace_gpu-host", pipelines.dace_gpu_host, FieldsOnCPU())

ROWS: Final = (CPU, ROW_STEPS, DACE_CPU, REFERENCE, GPU, GPU_HOST, DACE_GPU, DACE_GPU_HOST)


_MADE: Final = {row: row.backend() for row in ROWS}
# By name, then by alias.
BACKENDS: Final[dict[str, Backend]] = {row.name: made for row, made in _MADE.items()} | {
    alias: made for row, made in _MADE.items() for alias in row.aliases
}

cpu: Final = BACKENDS["cpu"]
dace_cpu: Final = BACKENDS["dace_cpu"]
reference: Final = BACKENDS["reference"]
gpu: Final = BACKENDS["gpu"]
gpu_host: Final = BACKENDS["gpu-host"]
dace_gpu: Final = BACKENDS["dace_gpu"]
gtfn_cpu: Final = BACKENDS["gtfn_cpu"]
gtfn_gpu: Final = BACKENDS["gtfn_gpu"]
itir_python: Final = BACKENDS["itir_python"]


def names_of_backend(name: str) -> tuple[str, ...]:
    """Return a backend's name and its aliases.

    >>> names_of_backend("gpu")
    ('gpu', 'gtfn_gpu', 'cpp_gpu')
    """
    return next(((row.name, *row.aliases) for row in ROWS if row.name == name), (name,))


def find_backend(given: Backend | str | None) -> Backend | None:
    """Return a backend by name in any case, or the one given; 'none' and 'embedded' are None.

    >>> find_backend("cpu").name, find_backend("GTFN_CPU").name
    ('cpu', 'cpu')
    """
    if given is None or isinstance(given, Backend):
        return given
    if isinstance(given, str):
        name = given.lower()
        if name in ("none", "embedded"):
            return None
        if name in BACKENDS:
            return BACKENDS[name]
        raise OptionError(f"There is no backend '{given}'.", name=given, known=[*BACKENDS, "none"])
    raise OptionError(
        f"A backend is a 'Backend', the name of one, or None, got '{given!r}'.", known=BACKENDS
    )
