"""The Python backend under gt4py's names; all are our reference backend."""

from ...workflows.backends.backend import reference

__all__ = ["default", "foast_to_gtir", "gtir", "no_transforms", "with_temporaries"]

default = gtir = no_transforms = with_temporaries = foast_to_gtir = reference
