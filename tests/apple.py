"""An Apple GPU by torch's own hooks, computed on the processor: it refuses float64."""

from __future__ import annotations

import os
from contextlib import ExitStack
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

_MPS, _META = torch.device("mps"), torch.device("meta")
_MIXES = ("_to_copy", "copy_", "index", "index_put_")  # may read a tensor of the processor


class AppleGPU:
    """Within it `mps` is there: tensors on it are no float64 and meet none of the processor."""

    def __init__(self) -> None:
        self._within = ExitStack()
        self.operations = 0
        """How many tensors were made on it."""

    def __enter__(self) -> AppleGPU:
        for context in (
            mock.patch.object(torch.backends.mps, "is_available", return_value=True),
            mock.patch.object(torch.cuda, "is_available", return_value=False),
            mock.patch.object(torch, "inference_mode", torch.no_grad),  # knows no such tensors
            mock.patch.dict(os.environ, {"NPTLAB_DEVICE": ""}),
            _Names(),
            _Operations(self),
        ):
            self._within.enter_context(context)
        return self

    def __exit__(self, *raised: object) -> None:
        self._within.close()


class _OnMPS(torch.Tensor):
    """A tensor of the device, around one of the processor."""

    @staticmethod
    def __new__(cls, inner, gpu):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.size(), strides=inner.stride(), storage_offset=inner.storage_offset(),
            dtype=inner.dtype, device=_META,
        )  # fmt: skip

    def __init__(self, inner, gpu) -> None:
        self.inner, self.gpu = inner, gpu

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        held, _ = tree_flatten((args, kwargs))
        gpu = next(each.gpu for each in held if isinstance(each, _OnMPS))
        return _run(gpu, func, args, kwargs or {})


class _Names(TorchFunctionMode):
    """Writes `mps` as the device that torch can name without one, and back."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        args, kwargs = tree_map(_as_meta, (args, kwargs or {}))
        out = func(*args, **kwargs)
        return _MPS if isinstance(out, torch.device) and out == _META else out


def _as_meta(value):
    if isinstance(value, str) and value == "mps":
        return _META
    return _META if isinstance(value, torch.device) and value.type == "mps" else value


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
    own = [each for each in held if isinstance(each, _OnMPS)]
    there = bool(own)
    if kwargs.get("device") is not None:
        there = torch.device(kwargs["device"]) == _META
        kwargs = {**kwargs, "device": torch.device("cpu")} if there else kwargs
    if own and name not in _MIXES and any(e.ndim for e in held if not isinstance(e, _OnMPS)):
        raise RuntimeError(f"Expected all tensors to be on the same device, in {name}")
    args, kwargs = tree_map(lambda each: each.inner if isinstance(each, _OnMPS) else each,
                            (args, kwargs))  # fmt: skip
    out = func(*args, **kwargs)
    known = {id(each.inner): each for each in own}

    def wrapped(each):
        if not isinstance(each, torch.Tensor) or not there:
            return each
        if each.dtype == torch.float64:
            raise TypeError("Cannot convert a MPS Tensor to float64 dtype")
        gpu.operations += 1
        return known[id(each)] if id(each) in known else _OnMPS(each, gpu)

    return tree_map(wrapped, out)
