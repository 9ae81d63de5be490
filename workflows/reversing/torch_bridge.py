"""Programs as functions of PyTorch's tensors, with derivatives by `autograd.Function`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...runtime.process.errors import MissingPackageError


def of_tensors(program: Any) -> Callable[..., Any]:
    """Return a program as a function of tensors.

    The program runs on the memory of tensors on the host; tensors of devices go through the host.
    """
    try:
        import torch
        from torch.autograd.function import once_differentiable
    except ImportError:
        raise MissingPackageError(
            "Package 'torch' is not installed.", hint="pip install torch"
        ) from None

    def arrays(tensors: Sequence[Any]) -> list[Any]:
        return [each.detach().cpu().numpy() for each in tensors]

    def like(array: Any, tensor: Any) -> Any:
        return torch.from_numpy(array).to(tensor.device)

    class Called(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, *tensors: Any) -> Any:
            ctx.save_for_backward(*tensors)
            return tuple(like(each, tensors[0]) for each in program.value(arrays(tensors)))

        @staticmethod
        @once_differentiable  # type: ignore[untyped-decorator]
        def backward(ctx: Any, *adjoints: Any) -> Any:
            tensors = ctx.saved_tensors
            found = program.pull(arrays(tensors), arrays(adjoints))
            return tuple(like(*each).to(each[1].dtype) for each in zip(found, tensors, strict=True))

    def one(*tensors: Any) -> Any:
        found = Called.apply(*tensors)
        return found if len(found) > 1 else found[0]

    return one
