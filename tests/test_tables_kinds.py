"""Tables without x, of ranks alone, with gaps, of complex x: each is read, said, and diagnosed."""

import re

import numpy as np
import pytest
from scipy.stats import kstest

import validation_core as npt
from pages.diagnose import files as page_files
from tests.files import netcdf, npz
from validation_core import tables
from validation_core.tables import RanksUpload, TableUpload, Upload
from validation_core.tables.truth_ranks import UnknownMaxRank
from validation_core.tables.x_columns import GAPS

N, K = 80, 20


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    theta = rng.normal(size=(N, 2))
    x = theta + rng.normal(size=(N, 2))
    q = x[:, None] / 2 + np.sqrt(0.5) * rng.normal(size=(N, K, 2))
    return {"theta": theta, "x": x, "theta_q": q}


def told(upload):
    return " ".join((*upload.notes, *upload.warnings))


def again(upload):
    """The upload as the store gives it back."""
    return Upload.of(upload.arrays(), order="NKD")


# Without x


def test_theta_and_draws_alone_are_a_table_without_x(rows):
    upload = tables.read(npz({"theta": rows["theta"], "theta_q": rows["theta_q"]}))
    assert isinstance(upload, TableUpload)
    assert upload.dims == (2, 0)
    assert "There is no x" in told(upload)
    assert again(upload).digest == upload.digest
    assert npt.Table(rows["theta"], None, rows["theta_q"]).upload.digest == upload.digest


def test_an_array_that_may_be_x_is_asked_about_and_none_answers(rows):
    file = npz({"theta": rows["theta"], "theta_q": rows["theta_q"], "stuff": rows["x"]})
    with pytest.raises(tables.UnknownArrays, match=r"missing: x; .*--map x=none"):
        tables.read(file)
    assert tables.read(file, arrays={"x": "none"}).dims == (2, 0)
    assert tables.read(file, arrays={"x": "stuff"}).dims == (2, 2)


def test_an_observation_without_x_is_left_unread(rows):
    observed = {"x_o": np.zeros(2), "theta_o": rows["theta_q"][0]}
    upload = Upload.of({"theta": rows["theta"], "theta_q": rows["theta_q"], **observed})
    assert upload.observed is None
    assert "x_o, theta_o: left unread, since there is no x" in told(upload)


def test_equal_theta_without_x_are_kept_once_as_copies(rows):
    theta = rows["theta"].copy()
    theta[40:] = theta[:40]
    upload = Upload.of({"theta": theta, "theta_q": rows["theta_q"]})
    assert upload.dropped == {"another row has the same theta": 40}


def test_a_table_without_x_says_what_cannot_be_asked(rows, store):
    table = npt.Table(rows["theta"], None, rows["theta_q"])
    result = npt.diagnose(table, ["sbc", "colt", "lc2st"], "size", store=store, progress=False)
    reasons = {record.name: record.reason or "" for record in result.records}
    assert not reasons["sbc"]
    assert "holds no x" in reasons["colt"]
    assert "holds no x" in reasons["lc2st"]
    assert result["size"].diagnosis.claims.result.claims
    for question in ("over_x", "observation"):
        with pytest.raises(ValueError, match="holds no"):
            npt.ask(question, table, store=store, progress=False)
    assert "no x" in result.card.loaded


# Ranks alone


def test_whole_ranks_need_their_number_of_draws(rows):
    ranks = (rows["theta_q"] < rows["theta"][:, None]).sum(axis=1)
    with pytest.raises(UnknownMaxRank, match="--max-rank K"):
        tables.read(npz({"ranks": ranks}))
    upload = tables.read(npz({"ranks": ranks}), max_rank=K)
    assert isinstance(upload, RanksUpload)
    assert (upload.n, upload.k, upload.dims) == (N, K, (2, 0))
    assert again(upload).digest == upload.digest
    assert tables.read(npz({"ranks": ranks, "num_posterior_samples": np.array(K)})).k == K


def test_an_option_of_another_kind_of_file_is_refused(rows):
    ranks = {"ranks": np.ones((N, 2)), "max_rank": K}
    two = {"p": rows["theta"], "q": rows["theta"]}
    classes = {"probabilities": np.full((N, 2), 0.5), "label": np.arange(N) % 2}
    for option in ({"circular": ["zz"]}, {"logarithms": ["theta_1"]}, {"discrete": ["theta_1"]},
                   {"bounds": {"theta_1": (0, 1)}}, {"corrections": ["thin"]}):  # fmt: skip
        for file in (ranks, two, classes):
            with pytest.raises(ValueError, match="is of q's draws; got a file with"):
                npt.read(file, **option)
    for file in (ranks, two):
        with pytest.raises(ValueError, match="missing is of x; got a file with"):
            npt.read(file, missing="drop")
        assert npt.read(file, circular=(), corrections=[]).n == N
    for file in (rows, two, classes, {"pit": np.full((N, 2), 0.3)}):
        with pytest.raises(ValueError, match="max_rank is of whole ranks without draws; got"):
            npt.read(file, max_rank=5)


@pytest.mark.parametrize("ranks", [[[-1], [2]], [[3], [99]], [[0.5], [2]]])
def test_ranks_outside_of_their_range_are_refused(ranks):
    with pytest.raises(ValueError, match=r"whole numbers from 0 to max_rank = 20; got"):
        npt.Table.ranks(ranks, max_rank=20)


def test_ranks_counted_from_one_are_told_so():
    ranks = np.arange(1, 32)[:, None].repeat(3, 0)
    with pytest.raises(ValueError, match="counted from 1, give ranks - 1"):
        tables.read(npz({"ranks": ranks, "max_rank": 30}))
    assert tables.read(npz({"ranks": ranks - 1, "max_rank": 30})).n == len(ranks)
    with pytest.raises(ValueError, match=r"got 31 in 3 of 93. .* Give the number of draws"):
        tables.read(npz({"ranks": np.where(ranks == 1, 0, ranks), "max_rank": 30}))


@pytest.mark.parametrize(
    "scale", [lambda r: r / K, lambda r: r / (K + 1), lambda r: (r + 0.5) / (K + 1)]
)
def test_shares_of_draws_are_read_as_ranks(rows, scale):
    ranks = (rows["theta_q"] < rows["theta"][:, None]).sum(axis=1)
    ranks[:2] = [[0, K], [K, 0]]
    upload = Upload.of({"pit": scale(ranks)})
    assert upload.k == K
    np.testing.assert_array_equal(upload.data.below, ranks)


def test_ranks_and_their_number_may_be_two_files(rows):
    files = [
        ("ranks.npz", npz({"ranks": np.ones((N, 2))})),
        ("k.npz", npz({"max_rank": np.array(9)})),
    ]
    ((_, upload, _),) = tables.read_files(files)
    assert upload.k == 9


def test_what_is_left_unread_beside_ranks_says_why(rows):
    ranks = {
        "ranks": np.ones((N, 2)),
        "max_rank": np.array(K),
        "dap_samples": rows["theta_q"][:, 0],
    }
    upload = tables.read(npz(rows | ranks))
    assert isinstance(upload, TableUpload)
    assert "ranks, max_rank: left unread, since ranks are worked out from theta_q" in told(upload)
    file = npz({"thetas": rows["theta"], "xs": rows["x"], **ranks})
    upload = tables.read(file)
    assert isinstance(upload, RanksUpload)
    assert "theta, x: left unread" in told(upload)
    assert "--map theta_q=dap_samples" in told(upload)
    assert tables.read(file, arrays={"theta_q": "dap_samples"}).k == 1


def test_continuous_pit_values_stay_as_they_are():
    pit = np.random.default_rng(0).random(N)
    upload = Upload.of({"pit": pit})
    assert upload.k == 0
    np.testing.assert_array_equal(upload.data.randomised(np.random.default_rng(1))[0], pit)
    with pytest.raises(ValueError, match=r"in \[0, 1\]; got"):
        Upload.of({"pit": pit + 0.5})


def test_each_row_of_ranks_may_have_its_own_number_of_draws():
    most = np.resize([10, 30], N)
    upload = Upload.of({"ranks": np.resize(np.arange(11), N), "max_rank": most})
    assert upload.k == 0
    assert upload.ranked == "ranks among several numbers of draws"
    u = upload.data.randomised(np.random.default_rng(0))
    assert u.min() >= 0
    assert u.max() <= 1


def test_ranks_of_a_table_give_the_p_value_that_the_table_gives(rows, store, tmp_path):
    table = npt.Table(**rows)
    whole = npt.diagnose(table, ["sbc"], "none", store=store, progress=False)
    whole.save(tmp_path / "ranks.nc")
    back = npt.read(tmp_path / "ranks.nc")
    assert isinstance(back.upload, RanksUpload)
    assert npt.run("sbc", back, store=store, progress=False).pvalue == whole.pvalue


def test_ranks_of_arviz_are_read_with_their_names():
    ranks = np.resize(np.arange(K + 1), (1, N)).astype(np.int64)
    file = netcdf({"prior_sbc": {"mu": (("chain", "draw"), ranks)}})
    with pytest.raises(UnknownMaxRank):
        tables.read(file)
    assert tables.read(file, max_rank=K).names == ("mu",)


LONG = "sim_id,variable,rank,max_rank,rhat\n" + "".join(
    f"{i},{name},{(i * step) % 11},10,1.0\n"
    for i in range(60)
    for name, step in (("b", 1), ("a", 7))
)


def test_a_row_for_each_simulation_and_parameter_is_read_as_ranks():
    upload = tables.read(LONG.encode())
    assert upload.names == ("b", "a")
    assert upload.data.below[3].tolist() == [3, 10]
    assert "rhat: left unread" in told(upload)


def test_a_parameter_without_a_rank_is_refused():
    with pytest.raises(ValueError, match="one row for each simulation and parameter"):
        tables.read(LONG.rpartition("59,a")[0].encode())


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("rank_a,rank_b,max_rank\n" + "1,2,3\n" * 60, ("a", "b")),
        ("id,pit\n" + "1,.5\n" * 60, ("theta_1",)),
    ],
)
def test_columns_of_ranks_are_read(text, names):
    assert tables.read(text.encode()).names == names


@pytest.mark.parametrize(
    ("name", "head", "row"),
    [
        ("ranks", "rank_a,rank_b,max_rank", "1,2,3"),
        ("ranks", "a,b,max_rank", "1,2,3"),
        ("ranks", "Unnamed: 0,a,b,max_rank", "{},1,2,3"),
        ("pit", "pit_a,pit_b,chain", ".3,.4,1"),
        ("pit", "a,b,chain,index", ".3,.4,1,{}"),
    ],
)
def test_a_file_called_ranks_or_pit_is_read_as_one_of_another_name(name, head, row):
    text = "\n".join([head, *(row.format(i) for i in range(60))])
    upload = tables.read(text.encode(), name=f"{name}.csv")
    assert upload.names == ("a", "b")
    assert name == "pit" or upload.k == 3


def test_a_file_called_probabilities_may_hold_the_true_class_too():
    text = "prob_cat,prob_dog,label\n" + ".3,.7,cat\n.6,.4,dog\n" * 60
    upload = tables.read(text.encode(), name="probabilities.csv")
    assert (upload.names, upload.n) == (("cat", "dog"), 120)


# Gaps


def test_padded_trials_get_a_column_with_their_number(rows):
    trials = np.random.default_rng(0).normal(size=(N, 6, 1))
    counts = np.resize([2, 4, 6], N)
    trials[np.arange(6) >= counts[:, None]] = np.nan
    upload = Upload.of(rows | {"x": trials, "x_o": np.array([1, 2, 3, 4, np.nan, np.nan]),
                               "theta_o": rows["theta_q"][0]})  # fmt: skip
    assert upload.n == N
    np.testing.assert_array_equal(upload.data.x[:, 6], counts)
    assert np.isfinite(upload.data.x).all()
    assert upload.observed[0][6] == 4
    assert "2 to 6 values in a row" in told(upload)
    assert again(upload).digest == upload.digest


def test_gaps_are_masked_where_the_user_says_so(rows):
    x = rows["x"].copy()
    x[::4, 1] = np.nan
    dropped = Upload.of(rows | {"x": x})
    assert dropped.n == N - N // 4
    assert "--missing mask" in told(dropped)
    upload = Upload.of(rows | {"x": x}, missing="mask")
    assert upload.n == N
    assert upload.x_names == ("x_1", "x_2", "x_2 missing")
    np.testing.assert_array_equal(upload.data.x[:, 2], np.arange(N) % 4 == 0)
    masked = npt.Table(rows["theta"], np.ma.masked_invalid(x), rows["theta_q"])
    assert masked.upload.digest == upload.digest


def test_columns_with_the_same_gaps_share_one_mark(rows):
    x = np.concatenate([rows["x"], rows["x"]], axis=1)
    x[::3, 1:3] = np.nan
    assert Upload.of(rows | {"x": x}, missing="mask").dims[1] == 5


def test_rows_without_any_value_are_left_out(rows):
    x = rows["x"].copy()
    x[0] = np.nan
    x[1:9, 1] = np.nan
    upload = Upload.of(rows | {"x": x}, missing="mask")
    assert upload.dropped == {"NaN or infinite values in x": 1}


def test_enough_rows_that_are_finite_are_a_table_with_a_warning(rows):
    many = {
        name: np.concatenate([array + i / 9 for i in range(3)]) for name, array in rows.items()
    }
    many["theta"][: 2 * N] = np.nan
    upload = Upload.of(many)
    assert upload.n == N
    assert "Only 80 of 240 rows are finite" in told(upload)


def test_what_keeps_rows_with_some_draws_that_are_not_finite_works_as_typed(rows):
    q = rows["theta_q"].copy()
    q[::2, 3, 0], q[1::2, 5] = np.nan, np.inf
    q[3, 7] = np.nan
    q[40:] = rows["theta_q"][40:]
    upload = Upload.of(rows | {"theta_q": q})
    assert upload.n == N - 40
    (line,) = re.findall(r"theta_q = (np\.stack\(.*\))\.", told(upload))
    kept = Upload.of(rows | {"theta_q": eval(line, {"np": np, "theta_q": q})})
    assert (kept.n, kept.k) == (N, K - 2)
    assert "np.stack" not in told(kept)
    q[0] = np.nan  # has none
    assert "np.stack" not in told(Upload.of(rows | {"theta_q": q}))


def test_draws_of_different_numbers_are_cut_to_the_shortest(rows):
    q = rows["theta_q"].copy()
    q[::2, 12:] = np.nan
    upload = Upload.of(rows | {"theta_q": q, "log_q": np.ones(N), "log_q_draws": np.ones((N, K))})
    assert (upload.n, upload.k) == (N, 12)
    assert upload.densities["log_q_draws"].shape == (N, 12)
    assert "12 of each are kept, picked at random" in told(upload)
    q[:, 12:] = np.nan
    assert "Rows have 12 draws of q, NaN after them." in Upload.of(rows | {"theta_q": q}).notes
    q = np.where(np.arange(N)[:, None, None] % 2, rows["theta_q"], q)
    ragged = [draws[np.isfinite(draws[:, 0])] for draws in q]
    table = npt.Table(rows["theta"], rows["x"], ragged)
    np.testing.assert_array_equal(table.upload.data.q, upload.data.q)


def test_of_unequal_draws_in_an_order_any_are_kept_each_with_what_is_known_of_it():
    rng, (n, k) = np.random.default_rng(0), (400, 60)
    x = rng.standard_normal((n, 1))
    theta, q = x + rng.standard_normal((n, 1)), x[:, None] + rng.standard_normal((n, k, 1))
    q.sort(axis=1)
    short = rng.permutation(n)[: n // 2]
    q[short, 20:] = np.nan
    q[short, :20] = np.sort(x[short, None] + rng.standard_normal((n // 2, 20, 1)), axis=1)
    known = {"log_q": -theta[:, 0], "log_q_draws": -q[..., 0], "energy": 2 * theta[:, 0]}
    beside = {"quantity_e": known.pop("energy"), "quantity_e_draws": 2 * q[..., 0]}
    upload = Upload.of({"theta": theta, "x": x, "theta_q": q} | known | beside)
    kept = upload.data.q[..., 0]
    np.testing.assert_array_equal(upload.densities["log_q_draws"], -kept)
    np.testing.assert_array_equal(upload.quantities["quantity_e_draws"], 2 * kept)
    assert kstest(((kept < theta).sum(1) + rng.random(n)) / 21, "uniform").pvalue > 0.01


def test_rows_with_few_draws_are_left_out(rows):
    q = rows["theta_q"].copy()
    q[::2, 12:] = np.nan
    q[0, 3:] = np.nan
    assert Upload.of(rows | {"theta_q": q}).dropped == {"NaN or infinite values in theta_q": 1}


def test_ragged_trials_in_memory_are_padded(rows):
    ragged = [np.ones((2 + i % 3, 2)) * i for i in range(N)]
    upload = npt.Table(rows["theta"], ragged, rows["theta_q"]).upload
    assert upload.dims[1] == 9
    np.testing.assert_array_equal(upload.data.x[:, 8], 2 + np.arange(N) % 3)
    with pytest.raises(ValueError, match="only x, theta_q and values at its draws"):
        npt.Table([[1], [1, 2]], ragged[:2], rows["theta_q"][:2])


def test_the_line_that_refuses_pickled_rows_makes_a_file_that_is_read(rows, tmp_path, monkeypatch):
    ragged = np.empty(N, object)
    ragged[:] = [np.ones(2 + i % 3) * i for i in range(N)]
    path = tmp_path / "pickled.npz"
    np.savez(path, **(rows | {"x": ragged}))
    with pytest.raises(ValueError, match="never loaded") as refusal:
        tables.read(path)
    line = str(refusal.value).partition("become an array by ")[2].removesuffix(".")
    monkeypatch.chdir(tmp_path)
    exec(line, rows | {"x": ragged})
    assert tables.read(tmp_path / "table.npz").dims[1] == 5


# Shapes


def test_complex_x_is_two_columns_each(rows):
    x = rows["x"] + 1j
    upload = tables.read(npz(rows | {"x": x, "x_o": x[0], "theta_o": rows["theta_q"][0]}))
    assert upload.x_names == ("x_1 (real)", "x_1 (imag)", "x_2 (real)", "x_2 (imag)")
    np.testing.assert_array_equal(upload.data.x[:, 1::2], 1)
    np.testing.assert_array_equal(upload.observed[0], upload.data.x[0])
    assert "2 complex columns" in told(upload)


def test_the_line_that_refuses_complex_theta_makes_a_table(rows):
    import numpy

    space = {"numpy": numpy, "theta": rows["theta"] + 1j, "theta_q": rows["theta_q"] + 1j}
    for name in ("theta", "theta_q"):
        with pytest.raises(ValueError, match=f"{name} must hold real numbers") as refusal:
            Upload.of({**rows, **{n: a for n, a in space.items() if n.startswith("theta")}})
        exec(str(refusal.value).partition("of their own: ")[2].removesuffix("."), space)
    assert (
        Upload.of({"x": rows["x"], "theta": space["theta"], "theta_q": space["theta_q"]}).dims[0]
        == 4
    )


def test_a_summary_is_read_in_place_of_x(rows):
    wide = np.zeros((N, 100)) + rows["x"][:, :1]
    upload = tables.read(npz(rows | {"x": wide, "x_summary": rows["x"]}))
    np.testing.assert_array_equal(upload.data.x, rows["x"])
    assert "x_summary (80, 2) is read in place of x (80, 100)" in told(upload)


def test_a_shape_names_the_columns_of_x(rows):
    wide = np.random.default_rng(0).normal(size=(N, 6))
    assert npt.Table(rows["theta"], wide, rows["theta_q"], x_shape=(2, 3)).x_names[4] == "x[1,1]"
    with pytest.raises(ValueError, match="x_shape must multiply to the 6"):
        npt.Table(rows["theta"], wide, rows["theta_q"], x_shape=(2, 2))


# The page


def test_the_page_asks_among_how_many_draws_ranks_are():
    sent = [("ranks.npz", npz({"ranks": np.ones((N, 2))}))]
    reading = page_files.read_tables(sent, page_files.FileAnswers())
    assert not reading.tables
    assert not reading.refusals
    assert reading.most.largest == 1
    ((_, upload, _),) = page_files.read_tables(sent, page_files.FileAnswers(max_rank=K)).tables
    assert upload.k == K


def test_the_page_keeps_rows_with_gaps_where_it_is_told_to(rows):
    x = rows["x"].copy()
    x[::4, 1] = np.nan
    sent = [("gaps.npz", npz(rows | {"x": x}))]
    ((_, upload, _),) = page_files.read_tables(sent, page_files.FileAnswers()).tables
    assert upload.dropped[GAPS] == N // 4
    ((_, upload, _),) = page_files.read_tables(sent, page_files.FileAnswers(missing="mask")).tables
    assert upload.n == N


# The files that researchers brought


@pytest.mark.parametrize(
    ("file", "dims", "words"),
    [
        ("no_x_tarp.npz", (3, 0), "There is no x"),
        ("trials_padded.npz", (1, 21), "3 to 20 values in a row"),
        ("complex_x.npz", (2, 4), "real and the imaginary part"),
        ("sbc_package_stats.csv", (2, 0), "left unread"),
    ],
)
def test_a_file_of_this_kind_is_read(shared, file, dims, words):
    upload = tables.read(shared / "cases" / file)
    assert upload.dims == dims
    assert words in told(upload)
    assert not upload.dropped
