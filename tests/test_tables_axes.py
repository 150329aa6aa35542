"""Axes in reverse order, as MATLAB, Julia and R store them: recognised, or asked about once."""

import io

import h5py
import numpy as np
import pytest

import validation_core as npt
from tests.files import K, N, hdf5, npz, refusal, table
from validation_core import cli, tables
from validation_core.tables import AmbiguousOrder


def reversed_axes(arrays):
    return {name: np.ascontiguousarray(array.T) for name, array in arrays.items()}


def marked(arrays, attribute=None, block=b""):
    """An HDF5 file with a mark of the program that wrote it."""
    file = io.BytesIO()
    with h5py.File(file, "w", userblock_size=512 if block else 0) as opened:
        for name, array in arrays.items():
            dataset = opened.create_dataset(name, data=array)
            if attribute:
                dataset.attrs[attribute] = np.bytes_("single")
    return block + file.getvalue()[len(block) :]


WRITTEN = {
    "MATLAB": {"attribute": "MATLAB_class", "block": b"MATLAB 7.3 MAT-file, Platform: GLNXA64"},
    "R": {"attribute": "rhdf5-NA.OK"},
    "Julia": {"block": b"HDF5-based Julia Data Format, version 0.1.1"},
}


@pytest.mark.parametrize("program", WRITTEN)
@pytest.mark.parametrize("m", [2, 3])
def test_a_file_that_tells_its_program_is_turned_and_it_is_said(program, m):
    arrays = table(m=m, log_q=np.arange(N, dtype=np.float32), log_q_draws=np.zeros((N, K), "f4"))
    arrays |= {"log_q": arrays["log_q"][:, None]}
    upload = tables.read(marked(reversed_axes(arrays), **WRITTEN[program]))
    plain = tables.read(npz(arrays))
    assert upload.digest == plain.digest
    assert f"theta_q was read as ({N}, {K}, 2): {program} stores axes in reverse order." in (
        upload.notes
    )


def test_names_in_a_cell_array_of_matlab_are_read():
    file = io.BytesIO()
    with h5py.File(file, "w") as opened:
        for name, array in reversed_axes(table()).items():
            opened.create_dataset(name, data=array).attrs["MATLAB_class"] = np.bytes_("single")
        cells = opened.create_dataset("theta_names", (2, 1), dtype=h5py.ref_dtype)
        for i, name in enumerate(("mass α", "")):
            codes = np.frombuffer(name.encode("utf-16-le"), np.uint16)
            at = opened.create_dataset(f"#refs#/{i}", data=codes.reshape(-1, 1))
            cells[i, 0] = at.ref
        cells.attrs["MATLAB_class"] = np.bytes_("cell")
    upload = tables.read(file.getvalue())
    assert upload.names == ("mass α", "theta_2")
    with h5py.File(file, "r+") as opened:
        del opened["theta"]
        opened["theta"] = opened["theta_names"]
    assert "theta = cell2mat(theta)" in refusal(file.getvalue())


def test_shapes_that_fit_only_in_reverse_are_turned_and_it_is_said():
    arrays = table()  # x has 3 columns: as 2 rows of 60 parameters it does not fit
    for content in (hdf5(reversed_axes(arrays)), npz(reversed_axes(arrays))):
        upload = tables.read(content)
        assert upload.digest == tables.read(npz(arrays)).digest
        assert upload.notes[-1].endswith("are read as 60 simulations of 2 parameters.")


def test_two_rows_of_many_parameters_are_asked_about_once():
    arrays = table(m=2)
    content = npz(reversed_axes(arrays))
    with pytest.raises(AmbiguousOrder, match="2 simulations of 60 parameters or") as caught:
        tables.read(content)
    assert caught.value.orders == ("NKD", "DKN")
    assert tables.read(content, order="DKN").digest == tables.read(npz(arrays)).digest


def test_reversed_draws_first_fit_in_one_direction_alone():
    arrays = table(m=2)
    swapped = arrays | {"theta_q": arrays["theta_q"].swapaxes(0, 1)}
    for order in (None, "DNK"):
        upload = tables.read(npz(reversed_axes(swapped)), order=order)
        assert upload.digest == tables.read(npz(arrays)).digest


@pytest.mark.parametrize(("n", "d"), [(60, 3), (20, 1), (60, 80)])
@pytest.mark.parametrize("with_x", [True, False])
def test_draws_on_the_last_axis_are_refused_with_the_line_that_turns_them(n, d, with_x):
    arrays = table(n=n, d=d, m=d)
    content = npz(arrays | {"theta_q": arrays["theta_q"].transpose(0, 2, 1)})
    chosen = {} if with_x else {"x": "none"}
    with pytest.raises(ValueError, match=r"numpy\.transpose\(theta_q, \(0, 2, 1\)\)"):
        tables.read(content, arrays=chosen)


def test_an_order_that_is_of_theta_q_alone_is_refused_in_the_shapes_of_the_file():
    arrays = table(m=2)
    reversed_draws = arrays | {"theta_q": arrays["theta_q"].T}
    with pytest.raises(ValueError, match=rf"theta_q \(2, {K}, {N}\)\. Save theta_q\.T"):
        tables.read(npz(reversed_draws), order="DKN")
    x_upright = reversed_axes(arrays) | {"x": arrays["x"]}
    with pytest.raises(ValueError, match=rf"x \({N}, 2\), .*Reverse x too: x = x\.T"):
        tables.read(npz(x_upright), order="DKN")


@pytest.mark.parametrize(("n", "d", "m"), [(60, 2, 2), (60, 80, 80), (20, 3, 3), (14, 30, 9)])
def test_tables_that_stand_upright_are_left_alone(n, d, m):
    upload = tables.read(npz(table(n=n, d=d, m=m)), order=None)
    assert upload.dims == (d, m)
    assert not any("reverse" in note for note in upload.notes)


def test_the_order_that_the_question_names_works_when_typed(tmp_path, capsys):
    path = tmp_path / "julia.h5"
    path.write_bytes(hdf5(reversed_axes(table(m=2))))
    line = ["diagnose", str(path), "--method", "sbc", "--questions", "none", "--json", "-"]
    assert cli.main(line) == 2
    assert "DKN for the other" in capsys.readouterr().err
    cli.main([*line, "--order", "DKN"])
    assert '"n": 60' in capsys.readouterr().out


def test_a_real_file_of_matlab_is_never_two_rows(shared):
    found = npt.read(shared / "cases/matlab_v73.mat")
    assert (found.n, found.k, found.upload.dims) == (300, 60, (2, 2))
    assert npt.diagnose(found, questions=()).verdict == "problem found"
