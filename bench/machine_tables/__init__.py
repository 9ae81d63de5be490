"""Pages and tables from the files of results: a page for each machine, a summary of all."""

from .overview import summary
from .pages import pages
from .text import table

__all__ = ["pages", "summary", "table"]
