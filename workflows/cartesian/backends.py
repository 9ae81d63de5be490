"""The backends of GTScript by gt4py's names, each with the backend of fieldforge that it selects.

numpy, debug           reference: the interpreter, whose run gives a stencil its meaning
gt:cpu_*, dace:cpu*    cpu
gt:gpu, dace:gpu*      gpu
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, TypeVar

from ...runtime.storage import presets
from ...runtime.storage.layout import LayoutInfo
from ..backends.backend import BACKENDS, Backend as Compiling, find_backend

PYTHON: Final = "python"
CPP: Final = "c++"
CUDA: Final = "cuda"

SELECTED: Final = {
    "debug": ("reference", PYTHON),
    "gt:cpu_ifirst": ("cpu", CPP),
    "gt:cpu_kfirst": ("cpu", CPP),
    "gt:gpu": ("gpu", CUDA),
    "numpy": ("reference", PYTHON),
    "dace:cpu": ("cpu", CPP),
    "dace:cpu_kfirst": ("cpu", CPP),
    "dace:cpu_KJI": ("cpu", CPP),
    "dace:gpu": ("gpu", CUDA),
    "dace:gpu_IJK": ("gpu", CUDA),
    "cpu": ("cpu", CPP),
    "rows": ("rows", CPP),
    "dace_cpu": ("dace_cpu", CPP),
    "reference": ("reference", PYTHON),
    "gpu": ("gpu", CUDA),
    "gpu-host": ("gpu-host", CPP),
    "dace_gpu": ("dace_gpu", CUDA),
}
"""Names of backends, each with the backend of fieldforge and its language."""

RECOMMENDING: Final = frozenset(
    name for name in SELECTED if ":" in name or name in ("numpy", "debug")
)
"""Backends whose calls warn of arrays in another layout than theirs."""

_PYTHON_OPTIONS: Final = ("oir_pipeline", "ignore_np_errstate")
_COMPILED_OPTIONS: Final = (
    "add_profile_info", "clean", "debug_mode", "opt_level", "extra_opt_flags", "verbose",
    "oir_pipeline",
)  # fmt: skip
_DEVICE_SYNC: Final = "device_sync"
_TYPES: Final[Mapping[str, type]] = {
    **{"oir_pipeline": object, "ignore_np_errstate": bool, "add_profile_info": bool},
    **{"clean": bool, "debug_mode": bool, "opt_level": str, "extra_opt_flags": str},
    **{"verbose": bool, _DEVICE_SYNC: bool},
}
_NOT_IN_KEYS: Final = ("clean", "verbose")

Item = TypeVar("Item")


class Registry(dict[str, Item]):
    """Objects by name.

    >>> names = Registry[int]()
    >>> names.register("one", 1), names.names
    (1, ['one'])
    """

    @property
    def names(self) -> list[str]:
        """The names in the order in which they were registered."""
        return list(self)

    def register(self, name: str, item: Item) -> Item:
        """Add an object and return it; a name that is taken is an error."""
        if name in self:
            raise ValueError(f"Name '{name}' is already registered.")
        self[name] = item
        return item


class Backend:
    """A backend of GTScript: a class with a name, options and a storage preset.

    An instance belongs to a `StencilBuilder`.
    """

    name: ClassVar[str] = ""
    options: ClassVar[dict[str, Any]] = {}
    languages: ClassVar[dict[str, Any] | None] = None
    storage_info: ClassVar[LayoutInfo]

    def __init__(self, builder: Any) -> None:
        self.builder = builder

    @classmethod
    def selected(cls) -> Compiling:
        """Return the backend of fieldforge that this one, or the class that it extends, selects."""
        names = (getattr(each, "name", "") for each in cls.__mro__)
        known = next((name for name in names if name in SELECTED), None)
        if known is None:
            raise ValueError(f"Backend '{cls.name}' extends none of {', '.join(SELECTED)}.")
        return BACKENDS[SELECTED[known][0]]


REGISTRY: Final = Registry[type[Backend]]()


def register(backend: type[Backend]) -> type[Backend]:
    """Add a class of a backend, and its storage preset."""
    if not isinstance(backend.name, str) or not backend.name:
        raise ValueError(f"Invalid 'name' attribute ('{backend.name}') in backend '{backend}'.")
    presets.register(backend.name, backend.storage_info)
    return REGISTRY.register(backend.name, backend)


def from_name(name: str) -> type[Backend]:
    """Return the class of a backend.

    >>> backend = from_name("gt:cpu_kfirst")
    >>> backend.name, backend.storage_info["device"], backend.selected().name
    ('gt:cpu_kfirst', 'cpu', 'cpu')
    """
    if name not in REGISTRY:
        raise ValueError(
            f"Backend '{name}' is not registered. Valid options are: {REGISTRY.names}."
        )
    return REGISTRY[name]


def _options(language: str) -> dict[str, Any]:
    names: tuple[str, ...] = _PYTHON_OPTIONS if language == PYTHON else _COMPILED_OPTIONS
    if language == CUDA:
        names = (*names, _DEVICE_SYNC)
    return {name: {"versioning": name not in _NOT_IN_KEYS, "type": _TYPES[name]} for name in names}


def _class_name(name: str) -> str:
    words = name.replace(":", "_").replace("-", "_").split("_")
    return "".join(word[:1].upper() + word[1:] for word in words) + "Backend"


def _register_all() -> None:
    for name, (_, language) in SELECTED.items():
        info = presets.from_name(name)
        assert info is not None, "every backend has a preset"
        body = {
            "__doc__": f"The backend '{name}' of GTScript.",
            "__module__": __name__,
            "name": name,
            "options": _options(language),
            "languages": {"computation": language, "bindings": [PYTHON]},
            "storage_info": info,
        }
        register(type(_class_name(name), (Backend,), body))


def class_for(backend: Compiling) -> type[Backend]:
    """Return a class for a backend with options; it is registered under no name.

    >>> from fieldforge import cpu
    >>> class_for(cpu.with_options(numerics="strict")).name
    'cpu'
    """
    known = REGISTRY.get(backend.name)
    if known is not None and find_backend(backend.name) is backend:
        return known
    info = presets.from_name(backend.name) or presets.from_name("cpu")
    assert info is not None, "'cpu' has a preset"

    def selected(_: type[Backend]) -> Compiling:
        return backend

    body: dict[str, Any] = {
        "__doc__": f"The backend '{backend.name}' with options.",
        "__module__": __name__,
        "name": backend.name,
        "options": known.options if known is not None else {},
        "languages": known.languages if known is not None else None,
        "storage_info": info,
        "selected": classmethod(selected),
    }
    return type("OwnBackend", (Backend,), body)


_register_all()
