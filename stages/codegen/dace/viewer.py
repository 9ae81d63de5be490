"""Pages in which DaCe's viewer shows an SDFG; they load the viewer from the installed DaCe."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

# The viewer's templates use these words of a template language, and no others.
_BLOCK: Final = re.compile(r"{% block (\w+) %}(.*?){% endblock %}", re.DOTALL)
_LEFT: Final = re.compile(r"{% (?:block \w+|endblock|extends [^%]*) %}\n?")
_SCRIPT: Final = "scripts_after"


def viewer_page(sdfg: Any) -> str:
    """Return the HTML of a page that shows an SDFG, whole, with its memlets and tasklets."""
    import dace

    folder = Path(dace.__file__).resolve().parent / "viewer"
    base, own = (
        (folder / "templates" / name).read_text() for name in ("sdfv_base.html", "sdfv.html")
    )
    script = dict(_BLOCK.findall(own))[_SCRIPT]
    empty = re.compile(rf"{{% block {_SCRIPT} %}}\s*{{% endblock %}}")
    page = _LEFT.sub("", empty.sub(lambda _: script, base))
    # a string of the script; the text of no tasklet may end the script
    text = json.dumps(json.dumps(sdfg.to_json())).replace("</", "<\\/")
    return page.replace("{{dir|safe}}", f"{folder}/").replace("{{sdfg|safe}}", text)
