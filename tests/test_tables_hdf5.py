"""HDF5 files: links, chunks, filters and user blocks, read as h5py reads them or refused."""

import io

import h5py
import numpy as np
import pytest

from tests.files import D, K, N, hdf5, npz, refusal, rewritten, table
from validation_core import tables


def linked(change, without="theta"):
    """A table in HDF5 in which one array is replaced."""
    arrays = table()
    taken = arrays.pop(without)
    file = io.BytesIO(hdf5(arrays))
    with h5py.File(file, "r+") as opened:
        change(opened, taken)
    return file.getvalue()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f, _: f.__setitem__("theta", h5py.ExternalLink("other.h5", "/theta")),
         "link to another file"),
        (lambda f, _: f.create_dataset("theta", (N, D), "f4", external=[("/etc/passwd", 0, 480)]),
         "points to other files"),
        (lambda f, a: f.create_dataset("theta", data=a, chunks=True, compression="lzf"),
         "gzip and shuffle alone"),
        (lambda f, a: f.create_dataset("theta", data=a, chunks=True, scaleoffset=3),
         "gzip and shuffle alone"),
        (lambda f, _: f.create_dataset("theta", (10**9, 10**3), "f4", chunks=(1000, 1000)),
         "200,000 chunks"),
        (lambda f, _: f.create_dataset("theta", (10**9, 10**3), "f4"), "at most"),
        (lambda f, _: f.create_dataset("theta", (N, D), "f4"), "never written"),
        (lambda f, _: f.create_dataset("theta", (N, D), "f4", chunks=True), "never written"),
        (lambda f, _: f.create_dataset("theta", data=["a"] * N, dtype=h5py.string_dtype()),
         "fixed length"),
        (lambda f, _: f.create_dataset("theta", (N,), h5py.vlen_dtype("f4")), "fixed length"),
        (lambda f, _: f.create_dataset("theta", (N,), h5py.ref_dtype), "fixed length"),
        (lambda f, _: f.__setitem__("theta", h5py.Empty("f4")), "fixed length"),
        (lambda f, _: f.__setitem__("theta", np.zeros((N, D), "S3")), "real numbers"),
        (lambda f, _: f.__setitem__("theta", np.zeros((N, D), "c8")), "real numbers"),
        (lambda f, _: f.__setitem__("theta", h5py.SoftLink("/theta")), "missing: theta"),
        (lambda f, _: f.__setitem__("theta", h5py.SoftLink("/../../etc")), "missing: theta"),
        (lambda f, a: f.__setitem__("../../theta", a), "missing: theta"),
    ],
)  # fmt: skip
def test_hdf5_that_is_refused(change, words):
    assert words in refusal(linked(change))


def test_virtual_datasets_are_refused():
    def change(file, _):
        layout = h5py.VirtualLayout((N, D), "f4")
        layout[:] = h5py.VirtualSource("/tmp/other.h5", "theta", (N, D))
        file.create_virtual_dataset("theta", layout)

    assert "points to other files" in refusal(linked(change))


def test_packed_numbers_are_refused():
    def change(file, array):
        file["theta"] = (100 * array).astype("i2")
        file["theta"].attrs["scale_factor"] = 0.01

    assert "scale_factor" in refusal(linked(change))


def test_arrays_are_found_in_groups_within_groups():
    plain = tables.read(npz(table()))
    for group in ("run", "run1/data", "a/b/c/d"):
        assert tables.read(hdf5(table(), group)).digest == plain.digest
        chosen = {role: f"{group}/{role}" for role in table()}
        assert tables.read(hdf5(table(), group), arrays=chosen).digest == plain.digest
    two = hdf5({f"{run}/data/{name}": a for run in ("r1", "r2") for name, a in table().items()})
    assert "got them in r1/data, r2/data" in refusal(two)


def test_no_soft_link_leads_out_of_the_file_by_another(tmp_path):
    (tmp_path / "other.h5").write_bytes(hdf5(table(), "run"))

    def change(file, _):
        file["so/deep/that/none/looks/other"] = h5py.ExternalLink("other.h5", "/run")
        file["theta"] = h5py.SoftLink("/so/deep/that/none/looks/other/theta")

    path = tmp_path / "table.h5"
    path.write_bytes(linked(change))
    with h5py.File(path) as opened:
        assert opened["theta"].shape == (N, D)
    assert "missing: theta" in refusal(path)


def test_soft_links_inside_the_file_are_followed():
    def change(file, array):
        file["deep/there"] = array
        file["deep/again"] = h5py.SoftLink("there")
        file["theta"] = h5py.SoftLink("/deep/again")

    assert tables.read(linked(change)).digest == tables.read(npz(table())).digest


@pytest.mark.parametrize("packing", [{"compression": "gzip"}, {"shuffle": True},
                                     {"compression": "gzip", "fletcher32": True}])  # fmt: skip
@pytest.mark.parametrize("size", [1, 240, 100_000_000])
def test_a_chunk_that_unpacks_to_another_size_than_it_declares_is_refused(packing, size):
    import zlib

    raw = bytes(min(size, 10_000) if "compression" not in packing else size)
    chunk = zlib.compress(raw, 9) if "compression" in packing else raw

    def change(file, array):
        dataset = file.create_dataset("theta", array.shape, "f4", chunks=array.shape, **packing)
        dataset.id.write_direct_chunk((0, 0), chunk, 4 if "fletcher32" in packing else 0)

    assert "truncated or damaged" in refusal(linked(change))


def test_a_checksum_that_does_not_match_is_refused():
    content = hdf5(table(), chunks=True, fletcher32=True)
    place = content.index(table()["theta"][:4].tobytes()[:24])
    damaged = bytearray(content)
    damaged[place] ^= 1
    assert "truncated or damaged" in refusal(bytes(damaged))


def test_pairs_without_draws_say_what_is_missing():
    arrays = table()
    arrays.pop("theta_q")
    assert "Pairs of theta and x alone say nothing of q" in refusal(hdf5(arrays))


def test_hdf5_has_names_and_says_what_it_leaves():
    arrays = table() | {"theta_names": np.array(["a", "<b>"]), "more": np.zeros(3)}
    upload = tables.read(hdf5(arrays, "run"))
    assert upload.names == ("a", "<b>")
    assert any("more" in note for note in upload.notes)
    file = io.BytesIO(hdf5(table(), "one"))
    with h5py.File(file, "r+") as opened:
        opened.copy("one", "two")
    assert "in one group; got them in one, two" in refusal(file.getvalue())


@pytest.mark.parametrize("size", [512, 1024, 4096])
@pytest.mark.parametrize("chunks", [None, True])
def test_a_user_block_is_passed_over(size, chunks):
    file = io.BytesIO()
    with h5py.File(file, "w", userblock_size=size) as opened:
        for name, array in table().items():
            opened.create_dataset(name, data=array, chunks=chunks)
    content = bytearray(file.getvalue())
    content[:12] = b"some words, "
    assert tables.read(bytes(content)).digest == tables.read(npz(table())).digest


@pytest.mark.parametrize("size", [0, 512])
def test_an_array_that_was_never_written_is_refused_by_that_reason(size):
    file = io.BytesIO()
    with h5py.File(file, "w", userblock_size=size) as opened:
        arrays = table()
        opened.create_dataset("theta", (N, D), "f4")
        opened["x"], opened["theta_q"] = arrays["x"], arrays["theta_q"]
    assert "'theta', which was declared and never written" in refusal(file.getvalue())


@pytest.mark.parametrize("fill", [7.0, np.nan])
def test_chunks_that_were_never_written_hold_the_fill_value_as_h5py_has_it(fill):
    def change(file):
        array = file["theta_q"][:]
        del file["theta_q"]
        q = file.create_dataset("theta_q", array.shape, "f4", chunks=(20, K, D), fillvalue=fill)
        q[:40] = array[:40]

    content = rewritten(change)
    upload = tables.read(content)
    with h5py.File(io.BytesIO(content)) as opened:
        expected = opened["theta_q"][:]
    keep = np.isfinite(expected).all((1, 2))
    np.testing.assert_array_equal(upload.arrays()["theta_q"], expected[keep])
    assert upload.n == (N if fill == 7 else 40)
    assert any(f"{20 * K * D} values of theta_q were never written" in n for n in upload.notes)


def test_an_array_in_its_own_header_is_read():
    def change(file):
        array = file["theta"][:]
        del file["theta"]
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((N, D))
        h5py.h5d.create(file.id, b"theta", h5py.h5t.NATIVE_FLOAT, space, plist)
        file["theta"][...] = array

    assert tables.read(rewritten(change)).digest == tables.read(npz(table())).digest
