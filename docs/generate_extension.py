"""What griffe loads: the extension, from beside this file."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from generate.examples_in_docstrings import FenceExamples

__all__ = ["FenceExamples"]
