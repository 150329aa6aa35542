"""Long tables of any naming, melted ones, and columns of which a user says what they are."""

import ast
import io

import numpy as np
import pandas as pd
import pytest

import validation_core as npt
from tests.files import K, N, columns, csv, parquet_file, refusal, table
from validation_core import tables
from validation_core.tables import UnknownArrays
from validation_core.tables.long_layout import find_layout, guess_columns
from validation_core.types import TwoSamples


def frame(sim="event", draw="sample", true="{}_true", k=K):
    """A row for each draw, the true values in columns beside it, y1 and y2 the data."""
    arrays = table(k=k, m=2)
    rows = np.repeat(np.arange(N), k)
    columns = {sim: rows, draw: np.tile(np.arange(k), N)}
    for j, name in enumerate(("mass", "spin")):
        columns[name] = arrays["theta_q"][..., j].reshape(-1)
        columns[true.format(name)] = arrays["theta"][rows, j]
    return pd.DataFrame(columns | {f"y{j + 1}": arrays["x"][rows, j] for j in range(2)})


def written(data):
    return {"csv": data.to_csv().encode(), "parquet": _parquet(data)}


def _parquet(data):
    file = io.BytesIO()
    data.to_parquet(file)
    return file.getvalue()


def check(upload):
    arrays = table(m=2)
    assert upload.names == ("mass", "spin")
    assert upload.x_names == ("y1", "y2")
    for name, array in upload.arrays().items():
        np.testing.assert_allclose(array, arrays[name], rtol=1e-5)


@pytest.mark.parametrize("true", ["{}_true", "true_{}", "{}.truth", "injected_{}"])
@pytest.mark.parametrize(
    ("sim", "draw"),
    [
        ("dataset", "sample"),
        ("sim_id", ".draw"),
        ("event", "draw_id"),
        ("Simulation", "iteration"),
    ],
)
def test_columns_are_known_by_the_names_that_others_give_them(sim, draw, true):
    data = frame(sim, draw, true)
    upload = tables.read(written(data)["csv"])
    check(upload)
    (note,) = [note for note in upload.notes if note.startswith("Read as a long table")]
    assert f"simulations by {sim}, draws by {draw}" in note
    assert "x is y1 and y2 (the same in each simulation)" in note
    check(npt.read(data.sample(frac=1, random_state=0)).upload)


def test_chains_and_iterations_number_the_draws_together():
    data = frame()
    data["chain"], data["iteration"] = data.pop("sample") % 2, np.arange(len(data)) % K // 2
    mixed = data.sample(frac=1, random_state=1)
    for content in written(mixed).values():
        upload = tables.read(content)
        assert (upload.n, upload.k) == (N, K)
        q = table(m=2)["theta_q"]
        np.testing.assert_allclose(upload.data.q, np.concatenate([q[:, ::2], q[:, 1::2]], 1),
                                   rtol=1e-5)  # fmt: skip


def test_draws_without_true_values_are_refused_with_columns_that_are_read():
    data = frame().rename(columns={"mass": "theta_mass", "spin": "theta_spin"})
    truths = data[["mass_true", "spin_true"]]
    data = data.drop(columns=list(truths)).rename(columns={"event": "sim", "sample": "draw"})
    data = data.rename(columns={"y1": "x_1", "y2": "x_2"})
    words = refusal(data.to_csv(index=False).encode())
    assert "got 0 for sim 0" in words
    named = words.partition("beside the draws: ")[2].removesuffix(".").split(", ")
    assert named == ["theta_mass_true", "theta_spin_true"]
    data[named] = truths
    found = npt.read(data)
    np.testing.assert_allclose(found.arrays()["theta"], table(m=2)["theta"], rtol=1e-6)


def test_columns_that_are_asked_about_are_no_array_of_all_of_them():
    rows = "lp,mass,spin\n" + "".join(f"{i},{i * i},{i % 7}\n" for i in range(60))
    with pytest.raises(UnknownArrays, match=r"--map x=lp --map theta_q=NAME"):
        tables.read(rows.encode(), name="chain.csv", arrays={"theta": ["mass", "spin"]})


def test_rows_of_true_values_may_be_marked_by_a_column():
    arrays = table(m=2)
    rows = np.concatenate([arrays["theta"][:, None], arrays["theta_q"]], axis=1)
    marks = [True, *[False] * K] * N
    data = pd.DataFrame({"sim": np.repeat(np.arange(N), K + 1), "is_truth": marks})
    data["draw"] = np.tile(np.arange(K + 1), N)
    data["mass"], data["spin"] = rows.reshape(-1, 2).T
    data["x_1"], data["x_2"] = np.repeat(arrays["x"], K + 1, axis=0).T
    for content in written(data).values():
        np.testing.assert_allclose(tables.read(content).data.theta, arrays["theta"], rtol=1e-5)


def test_unequal_draws_are_cut_to_the_shortest_and_said():
    data = frame()
    short = data.drop(data.index[(data["event"] == 3) & (data["sample"] >= 5)])
    for content in written(short).values():
        upload = tables.read(content)
        assert upload.k == 5
        assert (
            f"Simulations have 5 to {K} draws: 5 of each were kept, picked at random."
            in upload.notes
        )
        own = table(m=2)["theta_q"]
        for kept, draws in zip(upload.data.q, own, strict=True):
            at = np.abs(kept[:, None] - draws).sum(-1).argmin(1)
            np.testing.assert_allclose(kept, draws[at], rtol=1e-5)
            assert (np.diff(at) > 0).all()
        assert np.abs(upload.data.q - own[:, :5]).max() > 0.1  # not the first ones


def test_numbers_of_simulations_that_run_together_are_refused_with_a_line_that_numbers_them():
    data = frame()
    data["event"] += 2**53
    for content in written(data).values():
        message = refusal(content)
        assert "below 2**53, beyond which they run together; got 9007199254741" in message
        line = message.partition("0, 1, ...: ")[2].rstrip(".")
        renumbered = data.copy()
        exec(line, {"pandas": pd, "table": renumbered})
        check(tables.read(_parquet(renumbered)))


def test_simulations_may_be_named_by_words():
    data = frame()
    data["event"] = [f"GW{i:03d}" for i in data["event"]]
    for content in written(data).values():
        check(tables.read(content))


@pytest.mark.parametrize("names", [("variable", "value"), ("parameter", ".value")])
def test_a_melted_table_is_read(names):
    variable, value = names
    data = frame().melt(["event", "sample", "mass_true", "spin_true", "y1", "y2"],
                        ["mass", "spin"], variable, value)  # fmt: skip
    data["true_value"] = np.where(data[variable] == "mass", data.mass_true, data.spin_true)
    data = data.drop(columns=["mass_true", "spin_true"])
    for content in written(data).values():
        check(tables.read(content))
    check(npt.read(data).upload)
    doubled = pd.concat([data, data[:1]])
    assert "must have one row; got some twice" in refusal(_parquet(doubled))


def test_a_column_called_sample_that_holds_words_stays_two_samples():
    data = {"sample": ["p", "q"] * 70, "dataset": np.arange(140) // 2, "a": np.arange(140.0)}
    for content in (csv(data), parquet_file(data)):
        assert isinstance(tables.read(content).data, TwoSamples)


def test_columns_of_unknown_names_are_asked_about_and_read_as_the_user_says():
    data = frame("which", "number", "{}_0").rename(columns={"mass": "m", "spin": "s"})
    said = {"sim": "which", "draw": "number", "theta": ["mass_0", "spin_0"],
            "theta_q": "m+s", "x": "y*"}  # fmt: skip
    for content in written(data).values():
        with pytest.raises(UnknownArrays, match="sim=NAME,draw=NAME,theta=NAME") as caught:
            tables.read(content, name="run")
        assert caught.value.columns
        assert caught.value.shapes["m"] == (N * K,)
        upload = tables.read(content, arrays=said)
        assert upload.names == ("m", "s")
        np.testing.assert_allclose(upload.data.theta, table(m=2)["theta"], rtol=1e-5)
    with pytest.raises(ValueError, match="got nobody, and the file has the columns"):
        tables.read(content, arrays=said | {"x": "nobody"})


def test_a_layout_is_found_by_names_alone():
    assert find_layout(["a", "b", "c"]) is None
    assert find_layout(["sim", "draw", "a"]) is None
    usual = find_layout(["sim", "draw", "theta_a", "x_1", "log_q"])
    assert usual.in_rows
    assert (usual.theta, usual.x) == (("theta_a",), ("x_1",))
    assert usual.beside == {"log_q": "log_q"}
    paired = find_layout(["dataset", "k", "theta_1", "theta_q_1", "x"])
    assert (paired.theta, paired.theta_q, paired.x) == (("theta_1",), ("theta_q_1",), ("x",))
    numbered = find_layout(["sim", "draw", "theta_1", "theta_true_1", "x_1"])
    assert (numbered.theta, numbered.theta_q) == (("theta_true_1",), ("theta_1",))
    drawn = find_layout(["sim", "draw", "mass", "mass_sample", "y"])
    assert (drawn.theta, drawn.theta_q, drawn.x) == (("mass",), ("mass_sample",), None)
    assert guess_columns(["event", "number", "theta_a", "b"])["theta"] == ("theta_a",)


def test_a_table_of_the_ranks_of_sbc_is_no_long_table(shared):
    numbers = pd.read_csv(shared / "cases/sbc_package_stats.csv").columns
    assert find_layout([name for name in numbers if name != "variable"], ["variable"]) is None


def test_a_table_that_pandas_wrote_is_read_as_it_is(shared):
    upload = tables.read(shared / "cases/pandas_long.csv")
    assert (upload.n, upload.k, upload.names) == (80, 30, ("mass", "spin"))
    assert upload.x_names == ("y1", "y2")
    assert npt.diagnose(npt.Table.of(upload), questions=()).verdict == "problem found"


@pytest.mark.parametrize("form", ["{stem}.{part}", "{stem}[{part}]"])
def test_parts_of_an_array_may_be_written_as_r_and_arviz_write_them(form):
    content = columns(table())
    renamed = {
        form.format(stem=stem, part=part) if part else stem: values
        for (stem, _, part), values in ((n.partition("_"), v) for n, v in content.items())
    }
    assert tables.read(csv(renamed)).digest == tables.read(csv(content)).digest


def wide(draws=K, true="{}", drawn="{}"):
    """A row for each simulation, its draws in numbered columns beside the true values."""
    arrays = table(m=2)
    columns = {f"y{j + 1}": arrays["x"][:, j] for j in range(2)}
    for j, name in enumerate(("mass", "spin")):
        columns[true.format(name)] = arrays["theta"][:, j]
        for i in range(draws):
            columns[f"{drawn.format(name)}_{i}"] = arrays["theta_q"][:, i % K, j]
    return pd.DataFrame(columns)


@pytest.mark.parametrize("draws", [K, 70])  # 70: more columns than arrays that a file may hold
@pytest.mark.parametrize(
    ("true", "drawn"), [("{}", "{}"), ("{}_true", "{}"), ("theta_{}", "theta_q_{}")]
)
def test_draws_in_numbered_columns_are_read_as_the_refusal_advises(draws, true, drawn):
    data = wide(draws, true, drawn)
    truths, of = ([form.format(name) for name in ("mass", "spin")] for form in (true, drawn))
    for content in written(data).values():
        with pytest.raises(UnknownArrays) as caught:
            tables.read(content, name="run")
        advised = str(caught.value).partition("arrays=")[2].partition(" in Python")[0]
        said = ast.literal_eval(advised)
        numbered = "+".join(f"{name}_*" for name in of)
        assert said == {"theta": "+".join(truths), "x": "y1+y2", "theta_q": numbered}
        for x in (said["x"], "y*"):
            upload = tables.read(content, name="run", arrays=said | {"x": x})
            np.testing.assert_allclose(upload.data.theta, table(m=2)["theta"], rtol=1e-5)
            np.testing.assert_allclose(upload.data.q[:, :K], table(m=2)["theta_q"], rtol=1e-5)
            assert not [note for note in upload.notes if "unread" in note]
    guessed = guess_columns(list(caught.value.shapes)[1:])
    assert guessed["theta"] == (*truths,)
    assert guessed["theta_q"] == tuple(f"{name}_*" for name in of)
    assert guessed["x"] == ("y1", "y2")


def test_of_too_many_columns_those_that_are_named_are_read():
    rng = np.random.default_rng(0)
    others = pd.DataFrame({f"f{chr(97 + i // 26)}{chr(97 + i % 26)}": rng.normal(size=N)
                           for i in range(150)})  # fmt: skip
    content = pd.concat([wide(), others], axis=1).to_csv(index=False).encode()
    said = {"theta": "mass", "x": "f*", "theta_q": "mass_*"}
    assert tables.read(content, name="run", arrays=said).data.x.shape == (N, 150)
    with pytest.raises(ValueError, match=r"got mas, and it holds run \(60, 178\), mass_\*"):
        tables.read(content, name="run", arrays={"theta": "mas", "theta_q": "mass_*"})


def test_rows_of_true_values_may_say_p_and_need_no_draw_number():
    arrays = table(m=2)
    rows = np.concatenate([arrays["theta"][:, None], arrays["theta_q"]], axis=1).reshape(-1, 2)
    data = pd.DataFrame({"event": np.repeat(np.arange(N), K + 1), "m": rows[:, 0]})
    data["kind"] = ["p", *["q"] * K] * N
    data["number"] = [None, *range(K)] * N
    said = {"sim": "event", "draw": "number", "theta": "m", "x": "none"}
    content = data.to_csv(index=False, sep=";", decimal=",").encode()
    upload = tables.read(content, arrays=said | {"truth": "kind"})
    np.testing.assert_allclose(upload.data.theta[:, 0], arrays["theta"][:, 0], rtol=1e-5)
    with pytest.raises(ValueError, match="whole numbers; got nothing in number at row 1"):
        tables.read(content, arrays=said)
