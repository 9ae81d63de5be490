"""Make a stage of a function: ports from its parameters, options from its keyword arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

from ...runtime.process import OptionError, WorkflowError, classes
from ...stages.base import Artifact, Stage


@classes.frozen
class Text:
    """An artifact that is one text.

    >>> Text.from_files(Text("3 maps").files()).text
    '3 maps'
    """

    text: str

    def files(self) -> Mapping[str, bytes]:
        """Return the text as one file."""
        return {"text.txt": self.text.encode()}

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Self:
        """Return the text in the file."""
        return cls(files["text.txt"].decode())


@classes.frozen
class FunctionStage(Stage):
    """A stage that runs a function; its options are the fields that `stage` adds."""

    function: ClassVar[Callable[..., Any]]
    accepts: ClassVar[Mapping[str, type[Artifact]]] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, to try it without a workflow."""
        return type(self).function(*args, **kwargs)

    def with_options(self, **options: Any) -> Self:
        """Return the stage with other options; an unknown option is an error."""
        known = [field.name for field in classes.fields(type(self))]
        for name in options:
            if name not in known:
                raise OptionError(
                    f"Stage '{self.name}' has no option '{name}'.",
                    name=name,
                    known=known,
                )
        return classes.evolve(self, **options)

    def run(self, **inputs: Any) -> Mapping[str, Artifact]:
        """Call the function with the inputs in order and the options by name."""
        options = {field.name: getattr(self, field.name) for field in classes.fields(type(self))}
        result = type(self).function(*(inputs[need] for need in self.needs), **options)
        if len(self.provides) == 1 and not isinstance(result, Mapping):
            return dict.fromkeys(self.provides, result)
        return dict(result)


def stage(
    *,
    provides: Mapping[str, type[Artifact]],
    accepts: Mapping[str, type[Artifact]] | None = None,
    name: str | None = None,
    version: str = "1",
) -> Callable[[Callable[..., Any]], FunctionStage]:
    """Make a stage of a function; its positional parameters are the ports that it needs.

    Keyword-only parameters are options and need defaults. The source text is part of the
    key; results of a function without source are cached in memory only.

    >>> @stage(provides={"report": Text})
    ... def count_lines(lowered, *, title="lines"):
    ...     return Text(f"{title}: {len(lowered.text.splitlines())}")
    >>> count_lines.needs, count_lines.title
    (('lowered',), 'lines')
    >>> count_lines.with_options(title="rows").title
    'rows'
    """

    def decorate(function: Callable[..., Any]) -> FunctionStage:
        needs, options = _signature(function)
        body = {
            "__doc__": function.__doc__,
            "__module__": function.__module__,
            "name": name or function.__name__,
            "version": version,
            "needs": needs,
            "provides": dict(provides),
            "accepts": dict(accepts or {}),
            "function": staticmethod(function),
        }
        import attrs

        fields = {option: attrs.field(default=default) for option, default in options.items()}
        made = attrs.make_class(
            function.__name__, fields, bases=(FunctionStage,), class_body=body, frozen=True
        )
        return made()  # type: ignore[no-any-return]  # the class was made two lines above

    return decorate


def _signature(function: Callable[..., Any]) -> tuple[tuple[str, ...], dict[str, Any]]:
    needs: list[str] = []
    options: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            needs.append(parameter.name)
        elif parameter.kind is parameter.KEYWORD_ONLY:
            if parameter.default is parameter.empty:
                raise WorkflowError(
                    f"Option '{parameter.name}' of stage '{function.__name__}' has no default.",
                    hints=[f"Write '{parameter.name}=...' in the signature."],
                )
            options[parameter.name] = parameter.default
        else:
            raise WorkflowError(
                f"Stage '{function.__name__}' cannot have the parameter '*{parameter.name}'.",
                hints=["Name every input and every option."],
            )
    return tuple(needs), options


def as_stage(stage: Any) -> Stage:
    """Return a stage unchanged; wrap a function as a pass over the dataflow IR."""
    if isinstance(stage, Stage):
        return stage
    if callable(stage) and not isinstance(stage, type):
        from ...stages.lower.pass_stage import PassStage

        return PassStage(stage)
    raise WorkflowError(
        f"A workflow is made of stages and functions, got '{stage!r}'.",
        hints=["Give an instance of a stage, such as 'Lower()'."],
    )
