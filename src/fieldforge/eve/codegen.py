"""Counterpart of `gt4py.eve.codegen`: text by templates of Jinja from trees of nodes.

Only a `JinjaTemplate` needs the package Jinja2.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence, Set
from typing import Any, ClassVar, Final

from ..runtime.process import FieldforgeError, MissingPackageError
from .concepts import Node

__all__ = [
    "FormattingError",
    "JinjaTemplate",
    "TemplateDefinitionError",
    "TemplateRenderingError",
    "TemplatedGenerator",
    "format_source",
]

_FORMATTERS: Final = {
    "python": ("black", "--quiet", "--line-length=100", "-"),
    "cpp": ("clang-format", "--assume-filename=generated.cpp"),
}


class TemplateDefinitionError(FieldforgeError, TypeError):
    """A template that Jinja cannot read."""


class TemplateRenderingError(FieldforgeError, RuntimeError):
    """A template that fails for the values that it is given."""


class FormattingError(FieldforgeError, RuntimeError):
    """Source code that no formatter took."""


class JinjaTemplate:
    """A template of Jinja; a name without a value is an error.

    >>> JinjaTemplate("{{ name }}({{ args | join(', ') }})").render(name="f", args=["a", "b"])
    'f(a, b)'
    """

    def __init__(self, definition: Any) -> None:
        try:
            import jinja2
        except ModuleNotFoundError:
            raise MissingPackageError(
                "Templates need the package 'jinja2', which is not installed.",
                hint="Install it: pip install jinja2.",
            ) from None
        try:
            text = isinstance(definition, str)
            environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
            self.definition = environment.from_string(definition) if text else definition
        except jinja2.TemplateError as error:
            raise TemplateDefinitionError(f"The template cannot be read: {error}") from error

    def render(self, mapping: Mapping[str, Any] | None = None, **values: Any) -> str:
        """Return the text for values by name."""
        try:
            return str(self.definition.render(**{**(mapping or {}), **values}))
        except Exception as error:  # a template runs any code of the user
            raise TemplateRenderingError(f"The template cannot be rendered: {error}") from error


class TemplatedGenerator:
    """Writes a tree of nodes as text: a method or a template for each class of nodes.

    `visit_Func` or the template `Func` of a subclass serves nodes of class `Func` and of classes
    derived from it. A template sees the fields as they were written, `_this_node`, and the
    keywords of the visit; `generic_visit` of a method goes on with the template.

    >>> class Term(Node):
    ...     name: str
    >>> class Sum(Node):
    ...     terms: list[Term]
    >>> class Writer(TemplatedGenerator):
    ...     Sum = JinjaTemplate("{{ terms | join(' + ') }}")
    ...     def visit_Term(self, node):
    ...         return node.name.upper()
    >>> Writer.apply(Sum(terms=[Term(name="a"), Term(name="b")]))
    'A + B'
    """

    __templates__: ClassVar[Mapping[str, JinjaTemplate]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = {name: each for name, each in vars(cls).items() if isinstance(each, JinjaTemplate)}
        cls.__templates__ = {**cls.__templates__, **own}

    @classmethod
    def apply(cls, root: Any, **options: Any) -> Any:
        """Return the text of a node, or the texts of a collection of nodes."""
        return cls().visit(root, **options)

    def visit(self, node: Any, **options: Any) -> Any:
        """Return the text of a node by its method, else by `generic_visit`."""
        for name in _names(node):
            method = getattr(self, f"visit_{name}", None)
            if method is not None:
                return method(node, **options)
        return self.generic_visit(node, **options)

    def generic_visit(self, node: Any, **options: Any) -> Any:
        """Return the text of a node by its template, of each part of a collection, or `str`."""
        if isinstance(node, Node):
            for name in _names(node):
                if name in self.__templates__:
                    return self._rendered(self.__templates__[name], node, options)
        if isinstance(node, Mapping):
            return {key: self.visit(each, **options) for key, each in node.items()}
        if isinstance(node, Sequence | Set) and not isinstance(node, str | bytes):
            return [self.visit(each, **options) for each in node]
        return str(node)

    def _rendered(self, template: JinjaTemplate, node: Node, options: Mapping[str, Any]) -> str:
        children = {key: self.visit(each, **options) for key, each in node.iter_children_items()}
        about = {
            "_children": children, "_this_node": node, "_this_generator": self,
            "_this_module": sys.modules[type(self).__module__],
        }  # fmt: skip
        return template.render({**children, **options, **about})


def format_source(language: str, source: str, *, skip_errors: bool = True, style: str = "") -> str:
    """Return source code as black ('python') or clang-format ('cpp') formats it.

    Without such a formatter, or if it fails, the source stays as it is.

    Raises:
        FormattingError: instead, with `skip_errors=False`.

    """
    command = [*_FORMATTERS.get(language, ())]
    if style and language == "cpp":
        command.append(f"--style={style}")
    if command and shutil.which(command[0]):
        done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout
    if not skip_errors:
        raise FormattingError(f"No formatter took the source in '{language}'.")
    return source


def _names(node: Any) -> list[str]:
    """Return the names of the classes whose method or template may serve a node."""
    if not isinstance(node, Node):
        return [type(node).__name__]
    return [kind.__name__ for kind in type(node).__mro__ if issubclass(kind, Node)]
