"""Files of every format that uploads are read from, made from arrays; and how they are refused."""

import io

import h5py
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from validation_core import tables

N, K, D, M = 60, 12, 2, 3


def refusal(content, **options):
    """The words by which a file is refused: one short line that says what was got."""
    with pytest.raises(ValueError, match=r"; got|missing") as caught:
        tables.read(content, **options)
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 2000
    return message


def table(n=N, k=K, d=D, m=M, seed=0, **more):
    """theta (n, d), x (n, m), theta_q (n, k, d) in float32, and whatever else."""
    rng = np.random.default_rng(seed)
    shapes = {"theta": (n, d), "x": (n, m), "theta_q": (n, k, d)}
    arrays = {
        name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()
    }
    return arrays | more


def npz(arrays, compressed=False):
    file = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(file, **arrays)
    return file.getvalue()


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def columns(arrays):
    """A table's arrays as the columns of a long table: one row per draw, -1 for the truth."""
    theta, x, q = arrays["theta"], arrays["x"], arrays["theta_q"]
    n, k, d = q.shape
    rows = np.concatenate([theta[:, None], q], axis=1).reshape(n * (k + 1), d)
    return {
        "sim": np.repeat(np.arange(n), k + 1),
        "draw": np.tile(np.arange(-1, k), n),
        **{f"theta_{j + 1}": rows[:, j] for j in range(d)},
        **{f"x_{j + 1}": np.repeat(x[:, j], k + 1) for j in range(x.shape[1])},
    }


def csv(columns, mark=","):
    """Columns of equal length as text; strings as they are."""
    lines = [mark.join(columns)]
    lines += [mark.join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    return ("\n".join(lines) + "\n").encode("utf-8", "surrogatepass")


def parquet_file(columns, **options):
    file = io.BytesIO()
    parquet.write_table(pa.table({n: pa.array(c) for n, c in columns.items()}), file, **options)
    return file.getvalue()


def hdf5(arrays, group=None, libver="earliest", **options):
    file = io.BytesIO()
    with h5py.File(file, "w", libver=libver) as opened:
        into = opened.create_group(group) if group else opened
        for name, array in arrays.items():
            chosen = options if np.ndim(array) else {}
            if np.asarray(array).dtype.kind == "U":
                array, chosen = np.asarray(array).astype(object), {}
            into.create_dataset(name, data=array, **chosen)
    return file.getvalue()


def netcdf(groups):
    """Groups of variables with named axes: {group: {variable: (dims, array)}}."""
    file = io.BytesIO()
    with h5py.File(file, "w") as opened:
        for group, variables in groups.items():
            into = opened.create_group(group)
            lengths = {
                dim: length
                for dims, array in variables.values()
                for dim, length in zip(dims, np.shape(array), strict=True)
            }
            for dim, length in lengths.items():
                into.create_dataset(dim, data=np.arange(length)).make_scale(dim)
            for name, (dims, array) in variables.items():
                dataset = into.create_dataset(name, data=array)
                for axis, dim in enumerate(dims):
                    dataset.dims[axis].attach_scale(into[dim])
    return file.getvalue()


def arviz(arrays, chains=2, truth="truth"):
    """A table as ArviZ keeps it: `mu` the first parameter, `tau` the others."""
    theta, x, q = arrays["theta"], arrays["x"], arrays["theta_q"]
    n, k, d = q.shape
    sketch = q.reshape(n, chains, k // chains, d)
    posterior = {"mu": (("chain", "draw", "sim"), sketch[..., 0].transpose(1, 2, 0))}
    truths = {"mu": (("sim",), theta[:, 0])}
    if d > 1:
        posterior["tau"] = (("sim", "chain", "draw", "part"), sketch[..., 1:])
        truths["tau"] = (("sim", "part"), theta[:, 1:])
    observed = {"y": (("sim", "place"), x)}
    return netcdf({"posterior": posterior, truth: truths, "observed_data": observed})


def rewritten(change, content=None):
    """An HDF5 file with a change that `change` makes to it when opened."""
    file = io.BytesIO(hdf5(table()) if content is None else content)
    with h5py.File(file, "r+") as opened:
        change(opened)
    return file.getvalue()
