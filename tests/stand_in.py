"""A stand-in for a GPU, by torch's own hooks: its tensors are kept and computed by the processor.

It refuses what a GPU refuses: to meet a tensor of the processor, and to be read by numpy.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

_META = torch.device("meta")
_MIXES = ("_to_copy", "copy_", "index", "index_put_")  # may read a tensor of the processor


class StandInGPU:
    """Within it networks run on the device of this name; `mps` has no float64, as Apple's."""

    def __init__(self, name: str = "mps") -> None:
        self.device = torch.device(name)
        self.made = 0
        """How many tensors were made on it."""
        self._within = ExitStack()

    def __enter__(self) -> StandInGPU:
        for context in (
            mock.patch.dict(os.environ, {"NPTLAB_DEVICE": str(self.device)}),
            mock.patch.object(torch, "inference_mode", torch.no_grad),  # knows no such tensors
            _Names(self.device),
            _Operations(self),
        ):
            self._within.enter_context(context)
        return self

    def __exit__(self, *raised: object) -> None:
        self._within.close()


class _OnGPU(torch.Tensor):
    """A tensor of the device, around one of the processor."""

    @staticmethod
    def __new__(cls, inner, gpu):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.size(), strides=inner.stride(), storage_offset=inner.storage_offset(),
            dtype=inner.dtype, device=_META,
        )  # fmt: skip

    def __init__(self, inner, gpu) -> None:
        self.inner, self.gpu = inner, gpu

    __torch_function__ = torch.nn.Parameter.__torch_function__  # none of its own

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        held, _ = tree_flatten((args, kwargs))
        gpu = next(each.gpu for each in held if isinstance(each, _OnGPU))
        return _run(gpu, func, args, kwargs or {})


class _Names(TorchFunctionMode):
    """Writes the device as the one that torch can name without having it, and back."""

    def __init__(self, device) -> None:
        super().__init__()
        self.device = device

    def __torch_function__(self, func, types, args=(), kwargs=None):
        args, kwargs = tree_map(self._as_meta, (args, kwargs or {}))
        out = func(*args, **kwargs)
        return self.device if isinstance(out, torch.device) and out == _META else out

    def _as_meta(self, value):
        if isinstance(value, str | torch.device) and str(value) == str(self.device):
            return _META
        return value


class _Operations(TorchDispatchMode):
    """Sends what is made on the device there."""

    def __init__(self, gpu) -> None:
        super().__init__()
        self.gpu = gpu

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return _run(self.gpu, func, args, kwargs or {})


def _run(gpu, func, args, kwargs):
    name = func.overloadpacket.__name__
    held = [each for each in tree_flatten((args, kwargs))[0] if isinstance(each, torch.Tensor)]
    own = [each for each in held if isinstance(each, _OnGPU)]
    there = bool(own)
    if kwargs.get("device") is not None:
        there = torch.device(kwargs["device"]) == _META
        kwargs = {**kwargs, "device": torch.device("cpu")} if there else kwargs
    if own and name not in _MIXES and any(e.ndim for e in held if not isinstance(e, _OnGPU)):
        raise RuntimeError(f"Expected all tensors to be on the same device, in {name}")
    args, kwargs = tree_map(lambda each: each.inner if isinstance(each, _OnGPU) else each,
                            (args, kwargs))  # fmt: skip
    out = func(*args, **kwargs)
    known = {id(each.inner): each for each in own}

    def wrapped(each):
        if not isinstance(each, torch.Tensor) or not there:
            return each
        if each.dtype == torch.float64 and gpu.device.type == "mps":
            raise TypeError("Cannot convert a MPS Tensor to float64 dtype")
        gpu.made += 1
        return known[id(each)] if id(each) in known else _OnGPU(each, gpu)

    return tree_map(wrapped, out)
