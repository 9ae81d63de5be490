"""The drawing of the rooms as nested boxes: the page needs no script from elsewhere."""

from __future__ import annotations

import re

_FENCE = re.compile(r"```mermaid\n(.*?)```", re.DOTALL)
_ROOM = re.compile(r"(\w+)\[\"(\w+)<br/>([^\"]*)\"\]")
_FLOOR = re.compile(r"subgraph \w+\[\"(\w+): ([^\"]*)\"\](.*?)\n  end", re.DOTALL)


def drawn(markdown: str) -> str:
    r"""Replace each flowchart of floors and rooms by boxes.

    >>> print(drawn('```mermaid\n  subgraph a["a: run"]\n    b["b<br/>think"]\n  end\n```'))
    <div class="floors">
    <div class="floor"><b>a</b> run<div class="rooms"><span><b>b</b> think</span></div></div>
    </div>
    """
    return _FENCE.sub(lambda found: _boxes(found[1]), markdown)


def _boxes(chart: str) -> str:
    floors = []
    for name, does, inside in _FLOOR.findall(chart):
        rooms = [(room, what) for _, room, what in _ROOM.findall(inside)]
        spans = "".join(f"<span><b>{room}</b> {what}</span>" for room, what in rooms)
        floors.append(
            f'<div class="floor"><b>{name}</b> {does}<div class="rooms">{spans}</div></div>'
        )
    return "\n".join(['<div class="floors">', *floors, "</div>"])
