"""`Backend`: a workflow with a name, a target and an allocator; options change it into another."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final, Self

from ...runtime.process import classes
from ...runtime.process.errors import OptionError
from ...stages.codegen.pass_list import PassName, edited
from ...stages.option_kinds import old_names
from ..graph.graph import Workflow
from ..graph.options import name_of_option, options_of, with_option

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
