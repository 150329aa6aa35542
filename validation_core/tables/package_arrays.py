"""Numbers of other packages, torch, JAX and CuPy, as arrays of NumPy; none of them is imported."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_tensor(value: object) -> bool:
    """Whether an object is a tensor of torch."""
    return hasattr(value, "detach")


def array_of(value: Any) -> NDArray[np.generic]:
    """Return numbers of NumPy, torch (on any device), JAX, CuPy, or lists of these as an array."""
    if is_tensor(value):
        value = value.detach().cpu()
        if getattr(value, "is_sparse", False):
            value = value.to_dense()
        for way in ("resolve_conj", "resolve_neg"):
            value = getattr(value, way, lambda plain=value: plain)()
        try:
            return np.asarray(value.numpy())
        except TypeError:  # NumPy has no bfloat16
            return np.asarray(value.float().numpy())
    if hasattr(value, "__cuda_array_interface__") and hasattr(value, "get"):
        return np.asarray(value.get())
    if isinstance(value, list | tuple) and value and is_tensor(value[0]):
        return np.stack([array_of(one) for one in value])
    return np.asarray(value)
