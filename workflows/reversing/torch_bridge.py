"""Programs as functions of PyTorch's tensors, with derivatives by `autograd.Function`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...runtime.process import MissingPackageError


def of_tensors(program: Any) -> Callable[..., Any]:
    """Return a program as a function of tensors.

    The program runs on the memory of tensors that lie where it runs; others are moved there, and
    results to the first tensor.
    """
    try:
        import torch
        from torch.autograd.function import once_differentiable
    except ImportError:
        raise MissingPackageError(
            "Package 'torch' is not installed.", hint="pip install torch"
        ) from None

    place = "cuda" if program.on_gpu else "cpu"  # which is also what PyTorch calls AMD's devices

    def arrays(names: Iterable[str], tensors: Sequence[Any]) -> list[Any]:
        kinds = [getattr(torch, program.dtype(name).name) for name in names]
        return [each.detach().to(place, kind) for each, kind in zip(tensors, kinds, strict=True)]

    def like(array: Any, tensor: Any) -> Any:
        return torch.from_dlpack(array).to(tensor.device)

    class Called(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, *tensors: Any) -> Any:
            ctx.save_for_backward(*tensors)
            return tuple(
                like(each, tensors[0]) for each in program.value(arrays(program.wrt, tensors))
            )

        @staticmethod
        @once_differentiable  # type: ignore[untyped-decorator]
        def backward(ctx: Any, *adjoints: Any) -> Any:
            tensors = ctx.saved_tensors
            found = program.pull(arrays(program.wrt, tensors), arrays(program.of, adjoints))
            return tuple(like(*each).to(each[1].dtype) for each in zip(found, tensors, strict=True))

    def one(*tensors: Any) -> Any:
        found = Called.apply(*tensors)
        return found if len(found) > 1 else found[0]

    return one
