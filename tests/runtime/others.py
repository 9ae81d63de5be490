"""Arrays of other libraries."""


class OnlyDLPack:
    """An array of another library that gives nothing but DLPack."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()
