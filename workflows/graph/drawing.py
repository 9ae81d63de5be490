"""Draw a graph of stages as lines of text or in the mermaid language."""

from __future__ import annotations

from collections.abc import Sequence

from .edges import Step


def draw(plan: Sequence[Step]) -> str:
    """Return one line per stage: its inputs, its name, its outputs.

    ```
    definition ------> parse   -> parsed, spans
    parsed, variant -> lower   -> lowered
    ```
    """
    rows = []
    for step in plan:
        feeds = [
            feed.port if feed.source is None else f"{feed.source}.{feed.port}"
            for feed in step.feeds
        ]
        rows.append((", ".join(feeds), step.name, ", ".join(step.stage.provides)))
    left = max((len(feeds) for feeds, _, _ in rows), default=0)
    middle = max((len(name) for _, name, _ in rows), default=0)
    return "\n".join(
        f"{feeds + ' ':-<{left + 2}}> {name:<{middle}} -> {ports}".rstrip()
        for feeds, name, ports in rows
    )


def mermaid(plan: Sequence[Step]) -> str:
    """Return a mermaid flow chart: stages are boxes, inputs are round boxes, arrows carry ports."""
    number = {step.name: f"s{index}" for index, step in enumerate(plan)}
    outside = dict.fromkeys(
        feed.need for step in plan for feed in step.feeds if feed.source is None
    )
    inputs = {need: f"i{index}" for index, need in enumerate(outside)}
    rows = ["flowchart TD"]
    rows += [f'    {short}(["{need}"])' for need, short in inputs.items()]
    rows += [f'    {short}["{name}"]' for name, short in number.items()]
    for step in plan:
        for feed in step.feeds:
            target = number[step.name]
            if feed.source is None:
                rows.append(f"    {inputs[feed.need]} --> {target}")
            else:
                rows.append(f'    {number[feed.source]} -- "{feed.port}" --> {target}')
    return "\n".join(rows)
