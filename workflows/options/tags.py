"""Find the backend that a tag, a device or a descriptor means for one program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ...runtime.process import DeviceType, OptionError, current
from ..backends.backend import BACKENDS, TARGET, Backend, find_backend

if TYPE_CHECKING:  # without files of options nothing imports what reads them, see decision 0005
    from .database import Database

CPU: Final = "cpu"
GPU: Final = "gpu"
DEVICES: Final = (CPU, GPU)
FACTORY: Final = "backend_factory"
FAMILY: Final = "backend"
DEVICE: Final = "device"


def backend_for(
    given: Any,
    program: str,
    options: Mapping[str, Any] | None = None,
    known: Database | None = None,
) -> Backend | None:
    """Return the backend for a program, with the options that the database has for both.

    Args:
        given: a tag in any case ('cpp_cpu', 'dace_gpu', ...); 'cpu', 'gpu' or a `DeviceType`, for
            which the database chooses the backend; a tag with a target ('gpu:sm_80', 'gpu:A100');
            a `Backend`, which is taken as it is; None or 'embedded'; a dictionary with 'device'
            and 'backend_factory', a function that makes a backend, or 'backend', the name of a
            family ('cpp', 'dace'); its other entries are options.
        program: 'module:name'.
        options: options that overrule every file.
        known: the database; that of the process by default.

    >>> backend_for("cpp_cpu", "model:diffuse").name, backend_for(None, "model:diffuse")
    ('cpu', None)
    >>> backend_for("GPU:A100", "model:diffuse").target.archs
    ('sm_80',)
    """
    if isinstance(given, Backend):
        return given.with_options(**options) if options else given
    if isinstance(given, Mapping):
        return _described(given, program, options, known)
    if isinstance(given, DeviceType):
        given = CPU if given == DeviceType.CPU else GPU
    tag, options = split_tag(given, options or {})
    found = find_backend(tag)
    if found is None:
        return None
    if known is None and not options and not _is_configured():
        return found
    known = _database() if known is None else known
    if tag in DEVICES:
        usual = found.with_options(target=options[TARGET]) if TARGET in options else found
        found = chosen(tag, usual, program, known)
    return known.applied(found, program, options)


def split_tag(given: Any, options: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
    """Return a tag without its target, which becomes an option; other values stay.

    >>> split_tag("GPU:A100", {"ahead": 4})
    ('gpu', {'ahead': 4, 'target': 'A100'})
    """
    if not isinstance(given, str):
        return given, options
    tag, _, target = given.partition(":")
    return tag.lower(), {**options, TARGET: target} if target else options


def _is_configured() -> bool:
    now = current()
    return bool(now.site_options or now.model_options or now.options)


def _database() -> Database:
    from .database import database

    return database()


def chosen(
    tag: str, usual: Backend, program: str, known: Database, archs: Sequence[str] = ()
) -> Backend:
    """Return the backend that the database uses for a device, by default that of `usual`."""
    if known.layers and not archs:
        from .machine_names import names_of

        archs = names_of(usual.target)
    name, origin = known.use(tag, program, archs)
    found = BACKENDS[name.lower()]
    device, wanted = (_device(each) for each in (found, usual))
    if device != wanted:
        raise OptionError(f"{origin}: backend '{name}' does not run on the device '{tag}'.")
    return found


def _tag(family: Any, device: Any) -> Any:
    """Return the tag of a family on a device, as in 'dace_gpu'; the device alone without one.

    >>> _tag("dace", DeviceType.CPU), _tag("cpp", "gpu"), _tag("reference", "cpu")
    ('dace_cpu', 'cpp_gpu', 'reference')
    """
    if isinstance(device, DeviceType):
        device = CPU if device == DeviceType.CPU else GPU
    if family is None:
        return device
    whole = f"{family}_{device}"
    return whole if whole.lower() in BACKENDS else family


def _device(backend: Backend) -> bool:
    return getattr(backend.allocator, "device_type", DeviceType.CPU) == DeviceType.CPU


def _described(
    given: Mapping[str, Any],
    program: str,
    options: Mapping[str, Any] | None,
    known: Database | None,
) -> Backend | None:
    """Return the backend of a descriptor; without a factory its device is a tag."""
    rest = {name: value for name, value in given.items() if name != FACTORY}
    device = rest.get(DEVICE, DeviceType.CPU)
    factory = given.get(FACTORY)
    if factory is None:
        tag = _tag(rest.pop(FAMILY, None), rest.pop(DEVICE, device))
        return backend_for(tag, program, {**rest, **(options or {})}, known)
    made = factory(**{**rest, DEVICE: device})
    return backend_for(made, program, options, known)
