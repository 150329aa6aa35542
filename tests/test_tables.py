"""What a user brings: every shape that is recognised, and every refusal in words."""

import io
import tracemalloc
import zipfile
from itertools import product

import numpy as np
import pytest

from benchmarks import samples as made_samples
from validation_core import tables
from validation_core.tables import AmbiguousOrder, Upload, samples
from validation_core.types import PosteriorTable, TwoSamples

N, K, D, M = 60, 12, 2, 3


def table(n=N, k=K, d=D, m=M, seed=0, **more):
    rng = np.random.default_rng(seed)
    arrays = {
        "theta": rng.standard_normal((n, d)),
        "x": rng.standard_normal((n, m)),
        "theta_q": rng.standard_normal((n, k, d)),
    }
    return {name: a.astype(np.float32) for name, a in arrays.items()} | more


def packed(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def bare(text: bytes, name="theta_q.npy"):
    """A zip archive of one member with these bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, text)
    return file.getvalue()


def header(shape, descr="<f4"):
    file = io.BytesIO()
    described = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, described)
    return file.getvalue()


def refusal(source, **options):
    with pytest.raises(ValueError, match=r".+; got|.+declare|.+missing") as caught:
        tables.read(source, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_table_is_read_as_it_was_saved():
    arrays = table()
    upload = tables.read(packed(**arrays))
    assert isinstance(upload.data, PosteriorTable)
    assert (upload.n, upload.k, upload.dims) == (N, K, (D, M))
    for name, array in upload.arrays().items():
        np.testing.assert_array_equal(array, arrays[name])
    assert upload.names == ("theta_1", "theta_2")
    assert not upload.dropped
    assert not upload.warnings


@pytest.mark.parametrize(
    "names",
    [("thetas", "xs", "posterior_samples"), ("targets", "data", "estimates"),
     ("Theta", "X", "samples")],
)  # fmt: skip
def test_other_tools_names_are_known(names):
    arrays = dict(zip(names, table().values(), strict=True))
    assert tables.read(packed(**arrays)).digest == tables.read(packed(**table())).digest


def test_draws_first_are_turned():
    arrays = table()
    turned = arrays | {"theta_q": arrays["theta_q"].swapaxes(0, 1)}
    assert tables.read(packed(**turned)).digest == tables.read(packed(**arrays)).digest


def test_equal_axes_are_asked_about():
    arrays = table(k=N)
    with pytest.raises(AmbiguousOrder, match="N = K"):
        tables.read(packed(**arrays))
    rows = tables.read(packed(**arrays), order="NKD")
    columns = tables.read(packed(**arrays), order="KND")
    np.testing.assert_array_equal(rows.data.q, arrays["theta_q"])
    np.testing.assert_array_equal(columns.data.q, arrays["theta_q"].swapaxes(0, 1))


def test_an_order_that_does_not_fit_is_refused():
    assert "other order" in refusal(packed(**table()), order="KND")


@pytest.mark.parametrize(
    ("theta", "x", "q", "expected"),
    [
        ((N,), (N,), (N, K), (K, 1, 1)),
        ((N,), (N,), (K, N), (K, 1, 1)),
        ((N, 1), (N, 4, 5), (N, K, 1), (K, 1, 20)),
        ((N, 2), (N, 3), (N, 2), (1, 2, 3)),
        ((N,), (N, 2), (N,), (1, 1, 2)),
    ],
)
def test_shapes_without_axes_of_length_one_are_understood(theta, x, q, expected):
    rng = np.random.default_rng(1)
    arrays = {"theta": theta, "x": x, "theta_q": q}
    drawn = {name: rng.standard_normal(shape) for name, shape in arrays.items()}
    upload = tables.read(packed(**drawn))
    assert (upload.k, *upload.dims) == expected


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"theta_q": np.zeros((N, K, 5))}, "shape (N, K, D)"),
        ({"theta_q": np.zeros((N + 1, K, D))}, "shape (N, K, D)"),
        ({"theta_q": np.zeros((N, K, D, 1))}, "shape (N, K, D)"),
        ({"x": np.zeros((N - 1, 2))}, "one row for each"),
        ({"theta": np.zeros((N, 2, 2))}, "(n, d)"),
        ({"theta": np.zeros((0, 2))}, "at least one row"),
        ({"theta": np.array(1.0)}, "at least one row"),
        ({"theta": np.zeros((N, 2), complex)}, "real numbers"),
        ({"theta": np.full((N, 2), "a")}, "real numbers"),
    ],
)
def test_shapes_that_no_table_has_are_refused(change, words):
    assert words in refusal(packed(**(table() | change)))


@pytest.mark.parametrize("axes", [(0, 2, 1), (2, 1, 0), (2, 0, 1), (1, 2, 0)])
def test_the_line_against_other_axes_makes_a_table(axes):
    arrays = table()
    turned = arrays["theta_q"].transpose(axes)
    with pytest.raises(ValueError, match="simulations first") as caught:
        tables.read(packed(**arrays | {"theta_q": turned}))
    line = str(caught.value).partition("theta_q = ")[2].removesuffix(".")
    back = eval(line, {"numpy": np, "theta_q": turned})
    np.testing.assert_array_equal(back, arrays["theta_q"])


def test_the_line_against_draws_on_one_axis_makes_a_table():
    arrays = table()
    q = arrays["theta_q"]
    for flat, which in ((q.reshape(-1, D), 0), (q.swapaxes(0, 1).reshape(-1, D), 1),
                        (q.reshape(N, -1), 0), (q.reshape(N, 3, -1, D), 0)):  # fmt: skip
        with pytest.raises(ValueError, match="draw k at x_i") as caught:
            tables.read(packed(**arrays | {"theta_q": flat}))
        line = str(caught.value).split(": ")[1:][which].partition(";")[0].removesuffix(".")
        upload = tables.read(packed(**arrays | {"theta_q": eval(line, {"theta_q": flat})}))
        np.testing.assert_array_equal(upload.data.q, q)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda a: a | {"theta": a["theta"].T}, "theta = theta.T"),
        (lambda a: a | {"x": a["x"].T}, r"x = numpy.transpose\(x, \(1, 0\)\)"),
        (lambda a: a | {"x": a["x"][1:]}, "Save the x of each row of theta"),
        (lambda a: a | {"x_summary": a["x"][1:]}, "x_summary must have one row"),
        (lambda a: a | {"theta_q": a["theta_q"][..., :1].repeat(3, -1)}, "theta has 2, theta_q 3"),
        (lambda a: {name: array[0] for name, array in a.items()}, "one simulation of 2 param"),
        (lambda a: a | {"x": np.float64(3.0)}, "Save a row for each simulation"),
    ],
)
def test_shapes_that_do_not_fit_are_refused_by_what_is_wrong(change, words):
    with pytest.raises(ValueError, match=words):
        tables.read(packed(**change(table())))


def test_axes_without_length_are_read_or_refused():
    """Of a column, a vector, a matrix, a picture: any axis may be empty, in any of the three."""
    shapes = [(0,), (N,), (N, 0, D), (N, K, D), (0, 1, 1), (0, K, 1, 1), (N, K, 0, 1)]
    rng, read = np.random.default_rng(0), 0
    for theta, x, q in product(shapes, repeat=3):
        arrays = {"theta": rng.random(theta), "x": rng.random(x), "theta_q": rng.random(q)}
        try:
            upload = tables.read(packed(**arrays))
        except ValueError as error:
            message = str(error)
            assert "got" in message
        else:
            assert upload.data.q.size > 0
            read += 1
    assert read > 0


@pytest.mark.parametrize("missing", ["theta", "theta_q"])
def test_a_missing_array_is_named(missing):
    arrays = table()
    del arrays[missing]
    message = refusal(packed(**arrays))
    assert f"missing: {missing};" in message


def test_arrays_in_one_folder_of_a_zip_are_a_table():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in table().items():
            member = io.BytesIO()
            np.save(member, array)
            archive.writestr(f"run 1/{name}.npy", member.getvalue())
        archive.writestr("__MACOSX/run 1/._theta.npy", b"aside")
    found = tables.read(file.getvalue())
    assert (found.digest, found.notes) == (tables.read(packed(**table())).digest, ())


def test_only_arrays_that_are_left_can_be_what_is_missing():
    theta, x, q = table().values()
    for arrays, answerable in (
        ({"theta": theta, "x": x, "log_q": x[:, 0]}, False),
        ({"theta_q": q}, False),
        ({"theta": theta, "x": x, "mine": q}, True),
    ):
        with pytest.raises(tables.UnknownArrays) as refused:
            tables.read(packed(**arrays))
        assert refused.value.answerable is answerable


def test_a_missing_sample_is_named():
    assert "missing: q;" in refusal(packed(p=np.zeros((60, 2))))
    assert "got: nothing" in refusal(packed())


def test_two_samples_are_read_without_x():
    rng = np.random.default_rng(0)
    upload = tables.read(packed(p=rng.standard_normal((80, 3)), q=rng.standard_normal((70, 3))))
    assert isinstance(upload.data, TwoSamples)
    assert (upload.n, upload.k, upload.dims) == (70, 0, (3, 0))
    assert "same columns" in refusal(packed(p=np.zeros((60, 2)), q=np.zeros((60, 3))))


@pytest.mark.parametrize(
    ("name", "reason"), [("theta", "theta"), ("x", "x"), ("theta_q", "theta_q")]
)
def test_rows_that_are_not_finite_are_dropped_and_counted(name, reason):
    arrays = table()
    arrays[name][3], arrays[name][5] = np.nan, np.inf
    upload = tables.read(packed(**arrays))
    assert upload.n == N - 2
    assert upload.dropped == {f"NaN or infinite values in {reason}": 2}
    np.testing.assert_array_equal(upload.data.theta[:3], arrays["theta"][:3])


def test_a_row_is_counted_once():
    arrays = table()
    arrays["theta"][3], arrays["x"][3] = np.nan, np.nan
    assert sum(tables.read(packed(**arrays)).dropped.values()) == 1


def test_mostly_broken_rows_are_refused():
    arrays = table()
    arrays["x"][: N // 2] = np.nan
    assert tables.read(packed(**arrays)).n == N // 2
    arrays["x"][: N // 2 + 1] = np.nan
    assert "half of the rows" in refusal(packed(**arrays))


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [("int16", "float32"), ("int64", "float64"), ("float16", "float32"), ("bool", "float32"),
     (">f4", "float32"), ("float64", "float64"), ("longdouble", "float64"), ("uint8", "float32")],
)  # fmt: skip
def test_numbers_of_every_type_become_floats(kind, dtype):
    arrays = {n: (a > 0 if kind == "bool" else 10 * a).astype(kind) for n, a in table().items()}
    upload = tables.read(packed(**arrays))
    assert upload.data.q.dtype == dtype
    np.testing.assert_allclose(upload.data.theta, arrays["theta"].astype(float))


def test_fortran_order_is_read():
    arrays = {name: np.asfortranarray(a) for name, a in table().items()}
    assert tables.read(packed(**arrays)).digest == tables.read(packed(**table())).digest


def test_constant_columns_are_said_and_kept():
    arrays = table()
    arrays["theta"][:, 1] = 2.0
    arrays["theta_q"][:, :, 1] = 2.0
    arrays["x"][:, 0] = 0.0
    upload = tables.read(packed(**arrays, theta_names=np.array(["a", "b"])))
    assert upload.dims == (D, M)
    text = " ".join(upload.warnings)
    assert "theta is constant in b" in text
    assert "theta_q is constant in b" in text
    assert "x is constant in column 1" in text


@pytest.mark.parametrize(
    ("sizes", "words"),
    [({"n": 49}, "N = 49 rows is few"), ({"k": 9}, "K = 9 draws"), ({"k": 1}, "K = 1 draw ")],
)
def test_few_rows_and_few_draws_are_said(sizes, words):
    assert any(words in warning for warning in tables.read(packed(**table(**sizes))).warnings)


def test_names_are_shown_as_text():
    hostile = "<img src=x onerror=alert(1)>\n\x00" + "y" * 100
    arrays = table(theta_names=np.array([hostile, "b"]), **{"<script>": np.zeros(3)})
    upload = tables.read(packed(**arrays))
    assert len(upload.names[0]) == 40
    assert upload.names[0].isprintable()
    assert any("<script>" in note for note in upload.notes)


@pytest.mark.parametrize("given", [np.array(["one"]), np.zeros(2)])
def test_names_that_do_not_fit_are_numbered(given):
    upload = tables.read(packed(**table(theta_names=given)))
    assert upload.names == ("theta_1", "theta_2")
    assert "numbers are shown" in upload.warnings[0]


def test_labels_saved_as_bytes_are_decoded():
    upload = tables.read(packed(**table(parameter_names=np.array([b"a", b"\xff"]))))
    assert upload.names == ("a", "\N{REPLACEMENT CHARACTER}")


def test_other_arrays_are_left_unread_and_said():
    upload = tables.read(packed(**table(extra=np.zeros(3))))
    assert upload.notes == ("'extra' was left unread: no test knows an array of that name.",)


class Trap:
    """Unpickling one of these is noticed."""

    opened = False

    def __reduce__(self):
        return (setattr, (Trap, "opened", True))


@pytest.mark.parametrize("name", ["theta", "theta_names", "anything"])
def test_pickled_objects_are_refused_and_never_loaded(name):
    message = refusal(packed(**(table() | {name: np.array([Trap(), None], dtype=object)})))
    assert name in message
    assert "never loaded" in message
    record = np.zeros(3, dtype=[("a", "f4"), ("b", "O")])
    assert "never loaded" in refusal(packed(**table(record=record)))
    assert not Trap.opened


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "an empty file"),
        (b"theta\x00,x\n1,2\n", "begins with"),
        (b"CDF\x01" + bytes(40), "netCDF-3 file. Convert it"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"ARROW1\x00\x00", "to_parquet"),
        (b"\x80\x04K\x01.", "a pickle"),
        (b"\x89HDF\r\n\x1a\n", "HDF5 file must be whole"),
        (b"PAR1....", ".parquet file must be whole"),
        (b"\x93NUMPY\x01\x00", "begin with a NumPy header"),
        (b"PK\x03\x04 and no more", "truncated or damaged"),
    ],
)
def test_a_file_of_unknown_format_is_refused_by_its_kind(content, words):
    assert words in refusal(content)


def test_a_folder_and_a_missing_file_are_refused(tmp_path):
    assert "readable" in refusal(tmp_path / "none.npz")
    assert "readable" in refusal(tmp_path)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_truncated_files_are_refused(share):
    whole = packed(**table())
    assert "truncated or damaged" in refusal(whole[: int(share * len(whole))])


def test_every_damaged_byte_is_a_refusal_or_harmless():
    whole = bytearray(packed(**table(n=5, k=2)))
    rng = np.random.default_rng(0)
    messages = []
    for place in rng.integers(0, len(whole), size=300):
        damaged = whole.copy()
        damaged[place] ^= 0x55
        try:
            tables.read(bytes(damaged))
        except ValueError as error:
            messages.append(str(error))
    assert len(messages) > 200
    assert not any("\n" in text for text in messages)


@pytest.mark.parametrize(
    "text",
    [
        b"not an array at all",
        b"\x93NUMPY\x01\x00\x10\x00 not a header ",
        b"\x93NUMPY\x02\x00\xff\xff\xff\xff{",
        b"\x93NUMPY\x09\x00\x10\x00{}",
        header((3,), descr="nonsense") + bytes(12),
        header((-3, 2)) + bytes(24),
    ],
)
def test_members_without_an_array_are_refused(text):
    refusal(bare(text))


def test_a_header_that_lies_about_its_bytes_is_refused():
    assert "as long as its header" in refusal(bare(header((3, 2)) + bytes(8)))
    assert "as long as its header" in refusal(bare(header((3, 2)) + bytes(200_000)))


@pytest.mark.parametrize("shape", [(10**9, 200, 10), (10**30, 2), (2**31, 2**31)])
def test_what_the_header_declares_is_refused_before_memory_is_taken(shape):
    tracemalloc.start()
    message = refusal(bare(header(shape) + bytes(100)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "declare" in message
    assert peak < 2_000_000


def test_a_compression_bomb_is_refused_before_memory_is_taken():
    zeros = header((200_000_000,)) + bytes(8_000_000)
    bomb = bare(zeros)
    tracemalloc.start()
    refusal(bomb)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(bomb) < 20_000
    assert peak < 2_000_000


def test_the_limit_counts_numbers_as_they_will_be_held():
    small = {name: a.astype(np.int8) for name, a in table().items()}
    held = sum(4 * a.size for a in small.values())
    assert tables.read(packed(**small), limit=held).n == N
    assert "at most" in refusal(packed(**small), limit=held - 1)


def test_too_many_or_repeated_members_are_refused():
    assert "at most 64" in refusal(packed(**{f"a{i}": np.zeros(1) for i in range(65)}))
    file = io.BytesIO(packed(**table()))
    with zipfile.ZipFile(file, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("theta.npy", header((0,)))
    assert "own name" in refusal(file.getvalue())


def test_the_digest_is_of_the_numbers_alone():
    unnamed, named = table(), table(theta_names=np.array(["a", "b"]))
    other = table(seed=1)
    digests = [tables.read(packed(**arrays)).digest for arrays in (unnamed, named, other)]
    assert digests[0] == digests[1] != digests[2]


def test_an_open_file_is_left_open(tmp_path):
    path = tmp_path / "table.npz"
    path.write_bytes(packed(**table()))
    with path.open("rb") as file:
        assert tables.read(file).digest == tables.read(str(path)).digest
        assert not file.closed


def test_arrays_in_memory_are_read_alike():
    arrays = table()
    assert Upload.of(arrays).digest == tables.read(packed(**arrays)).digest
    upload = Upload.of(tables.read(packed(**table(k=N)), order="KND").arrays(), order="NKD")
    assert upload.k == N


@pytest.mark.parametrize("name", samples.SAMPLES)
def test_shipped_samples_are_those_that_their_script_makes(name):
    upload = tables.read(samples.sample_path(name))
    assert (upload.n, upload.k, upload.names) == (400, 50, ("intercept", "slope"))
    for key, array in upload.arrays().items():
        np.testing.assert_allclose(array, made_samples.arrays(name)[key], rtol=1e-5, atol=1e-6)
    assert samples.sample_path(name).stat().st_size < 300_000


def test_the_exact_sample_is_exact():
    """Its draws at an x have the closed form's mean and spread."""
    arrays = made_samples.arrays("sample_well_trained")
    z = arrays["theta_q"] - arrays["theta_q"].mean(axis=1, keepdims=True)
    t = np.linspace(-1, 1, 5)
    variance = 1 / (1 + np.array([5, (t**2).sum()]) / 0.25)
    np.testing.assert_allclose(z.var(axis=(0, 1)) * 50 / 49, variance, rtol=0.05)
