"""Import this module before all others, and `gt4py.next` means fieldforge in this process.

Code that was written for gt4py then runs as it is. `gt4py._core` and what models use of
`gt4py.eve` mean their counterparts here; a module without one cannot be imported, and the error
says so. A process that this one starts has to import it again.

>>> import fieldforge.as_gt4py
>>> import gt4py.next as gtx
>>> gtx.__name__
'fieldforge'
"""

from .workflows.commands.gt4py_imports import install

__all__ = ["install"]

install()
