"""What the decorators make of a function, as far as embedded execution is concerned."""

import warnings

from fieldforge.runtime.embedded import embedded
from fieldforge.runtime.language.capture import capture


class Decorated:
    """A definition that is called as a decorated function is."""

    def __init__(self, function, kind="field_operator", scan=None):
        self.__definition__ = capture(function, kind, scan=scan)

    def __call__(self, *args, out=None, domain=None, offset_provider=None, **kwargs):
        given = {"offset_provider": offset_provider}
        if self.__definition__.kind == "program":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                return embedded.run_program(self.__definition__, args, kwargs, **given)
        return embedded.run_operator(
            self.__definition__, args, kwargs, out=out, domain=domain, **given
        )
