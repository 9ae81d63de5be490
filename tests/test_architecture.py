"""The page on architecture names files that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PATH = re.compile(r"`((?:workflows|stages|cache|runtime|tests|docs)/[\w./]*)`")


def test_every_path_on_the_page_is_there():
    named = set(PATH.findall((ROOT / "docs/architecture.md").read_text()))
    assert len(named) > 30
    assert sorted(path for path in named if not (ROOT / path).exists()) == []


def test_every_room_is_drawn():
    text = (ROOT / "docs/architecture.md").read_text()
    rooms = [
        path.parent.name
        for floor in ("workflows", "stages", "runtime")
        for path in sorted((ROOT / floor).glob("*/__init__.py"))
    ]
    assert [room for room in rooms if f'{room}["{room}<br/>' not in text] == []
