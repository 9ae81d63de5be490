"""Scripts from examples: what a copied block holds, and a page's examples as one file."""

from __future__ import annotations

import ast
import doctest
import html
import re
from collections.abc import Iterator

PAGES = ("tutorial.md", "boundaries.md", "columns.md")  # their examples build on each other
_FENCE = re.compile(r"^```python\n(?=>>>)", re.MULTILINE)
_BLOCK = re.compile(r"^```(?:python|pycon)\n(>>>.*?)^```", re.DOTALL | re.MULTILINE)
_SHOWN = re.compile(r'<div class="language-pycon highlight">(.*?</div>)', re.DOTALL)
_TAG = re.compile(r"<[^>]+>")
_DIRECTIVE = re.compile(r"[ \t]*# doctest:.*")


def as_sessions(markdown: str) -> str:
    r"""Mark examples with prompts as sessions, and leave out what only the tests read.

    >>> as_sessions("```python\n>>> 1\n1\n```")
    '```pycon\n>>> 1\n1\n```'
    """
    return _DIRECTIVE.sub("", _FENCE.sub("```pycon\n", markdown))


def with_copies(page: str) -> str:
    """Give each session of a page in HTML the text that its button copies."""

    def marked(found: re.Match[str]) -> str:
        text = input_of(html.unescape(_TAG.sub("", found[1])))
        copied = html.escape(text).replace("\n", "&#10;")
        return f'<div class="language-pycon highlight" data-copy="{copied}">{found[1]}'

    return _SHOWN.sub(marked, page)


def input_of(session: str) -> str:
    r"""Return what is typed in a session, without prompts and output.

    >>> print(input_of(">>> for i in (1, 2):\n...     print(i)\n1\n2\n>>> i\n2"))
    for i in (1, 2):
        print(i)
    i
    """
    lines = [line for line in session.splitlines() if line.startswith((">>>", "..."))]
    return "\n".join(_DIRECTIVE.sub("", line[4:]) for line in lines)


def script_of(markdown: str, name: str) -> str:
    """Return the examples of a page as a script that prints what the page shows."""
    parts = [f'"""The examples of the page {name}: run it with \'python {name}\'."""\n']
    for block in _BLOCK.findall(markdown):
        examples = doctest.DocTestParser().get_examples(block)
        parts += [*(line for example in examples for line in _lines(example)), ""]
    return "\n".join(parts)


def _lines(example: doctest.Example) -> Iterator[str]:
    source = _DIRECTIVE.sub("", example.source).rstrip("\n")
    if example.exc_msg is not None:
        error = example.exc_msg.partition(":")[0].rpartition(".")[2]
        yield from (f"# {line}" for line in [*source.splitlines(), f"raises {error}"])
    elif example.want and _is_value(source):
        yield f"print({source})" if "\n" in source else f"print({source.partition('  #')[0]})"
    else:
        yield source


def _is_value(source: str) -> bool:
    """Tell whether a prompt shows the value of the source: it prints nothing by itself."""
    body = ast.parse(source).body
    value = body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr) else None
    is_print = isinstance(value, ast.Call) and ast.unparse(value.func) == "print"
    return value is not None and not is_print
