"""Redirect imports of gt4py to fieldforge; import this module before all others.

Code that was written for gt4py then runs unchanged: for `gt4py.next`, and for `gt4py.cartesian` and
`gt4py.storage`. `gt4py._core` and the parts of `gt4py.eve` that models use are redirected, too; an
import of a module without a counterpart raises an error that names it. Processes that
`multiprocessing` starts are redirected, too; others have to import this module again.

>>> import fieldforge.as_gt4py
>>> import gt4py.next as gtx
>>> gtx.__name__
'fieldforge'
"""

from .workflows.commands.migration.gt4py_imports import install

__all__ = ["install"]

install()
