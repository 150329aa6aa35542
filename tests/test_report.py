"""What is taken away: one small HTML file that needs nothing, JSON, CSV, a DataTree, notes."""

import base64
import csv as reader
import gzip
import io
import json
import re
import runpy
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import numpy as np
import orjson
import pandas as pd
import plotly.graph_objects as go
import pytest
import xarray
from hypothesis import given, settings
from hypothesis import strategies as st

import validation_core as npt
from tests.reports import ANSWER, HOSTILE, NUMBERS, Fake, answer, cloud, diagnosed, table
from validation_core import diagnosis, report, row_files, statistics
from validation_core.diagnosis import Record
from validation_core.diagnosis.questions import Asked
from validation_core.drawing import plotly
from validation_core.drawing.drawn import Drawn
from validation_core.methods import SBC, MMDFuse
from validation_core.report import datatree, figures, numbers
from validation_core.report.sections import FigurePlaces
from validation_core.store import Store
from validation_core.tables import Upload

QUICK = MMDFuse(points=40, permutations=99)
WHEN = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def part(document, name):
    """The content of one script of a report."""
    (result,) = re.findall(rf'<script type="[^"]*" id="{name}">(.*?)</script>', document, re.S)
    return result


def unpacked(text):
    return gzip.decompress(base64.b64decode(text))


def figures_of(document):
    return json.loads(unpacked(part(document, "figures")))


def size(document):
    return len(document.encode())


def test_a_report_holds_everything_and_asks_for_nothing():
    result = diagnosed(table(shift=1.0), (SBC(), QUICK))
    document = report.html(result, {"size": ANSWER}, panels=[Fake()], path="run 7.npz", made=WHEN)
    assert size(document) <= report.LIMIT
    for text in ("Problem found", result.sentence.split(",")[0], result.upload.digest, "run 7.npz",
                 "2026-01-02 03:04", "Level", "Seed", "numpy", "python", "torch", "nptlab",
                 "How &lt;wrong&gt;", "If q were correct, all would be 0.", "The worst is "
                 "theta_1.",
                 "Validating Bayesian", "MMD-FUSE"):  # fmt: skip
        assert text in document, text
    sketch = figures_of(document)
    assert len(sketch) == document.count('data-figure="') == 5
    outside = re.sub(r'<script type="text/plain".*?</script>', "", document, flags=re.S)
    assert not re.search(r"https?://|src=|url\(|@import|<link", outside)
    assert "default-src 'none'" in document


def test_the_parts_stand_in_the_order_of_the_page():
    chosen = [Fake(name="size"), Fake(name="over_x"), Fake(name="checker")]
    answers = {item.name: answer(NUMBERS, item) for item in chosen}
    document = report.html(diagnosed(table()), answers, panels=chosen, notes="Mine")
    parts = re.findall(r'<section id="([^"]+)">', document)
    assert parts == ["verdict", "notes", "panel-size", "panel-over-x", "panel-checker", "tests",
                     "table", "methods", "made", "numbers"]  # fmt: skip
    assert re.findall(r'<a href="#([^"]+)">', document) == parts


def test_a_panel_without_an_answer_says_why():
    chosen = [Fake(obstacle="It needs x; got <none>. Upload x."), Fake(name="later")]
    late = Asked(running=frozenset({"later"}))
    document = report.html(diagnosed(table()), panels=chosen, asked=late)
    assert "It needs x; got &lt;none&gt;. Upload x." in document
    assert "was not finished when" in document
    assert "Not asked (--questions later)." in report.html(diagnosed(table()), panels=chosen)


def test_only_the_two_scripts_of_a_report_may_run():
    document = report.html(diagnosed(table(names=HOSTILE[:2])))
    policy = re.search(r"script-src ([^;]+);", document)[1]
    own = re.findall(r"<script>(.*?)</script>", document, re.S)
    assert len(own) == 1
    plotly = unpacked(part(document, "plotly")).decode()
    assert plotly == (figures.resources.files("plotly") / "package_data/plotly.min.js").read_text(
        encoding="utf-8"
    )
    assert policy.split() == [figures.trusted_script(item).digest for item in (own[0], plotly)]
    assert "unsafe-inline" not in policy
    assert "unsafe-eval" not in policy


def test_what_a_user_named_is_text_everywhere():
    upload = table(d=len(HOSTILE), shift=0.5, names=HOSTILE)
    words = "</script><script>alert(2)</script>\n<img src=x onerror=alert(3)>"
    document = report.html(
        diagnosed(upload), {"size": ANSWER}, panels=[Fake()], notes=words,
        path="<img src=x onerror=alert(4)>.npz",
    )  # fmt: skip
    for planted in ("<script>alert", "<img", "<b>bold", "<i>wide"):
        assert planted not in document
    assert "&lt;/script&gt;&lt;script&gt;alert(2)&lt;/script&gt;<br>&lt;img" in document
    assert json.loads(part(document, "json"))["names"] == list(upload.names)
    assert document.count("</script>") == 4  # plotly, figures, JSON, its own, and no more


def test_half_a_letter_does_not_stop_a_report(tmp_path):
    result, answers = diagnosed(table(names=["\ud800", "b"])), {"a\udfff": ANSWER}
    document = report.html(result, answers, panels=[], notes="\ud800", path="\udcff.npz")
    (tmp_path / "page.html").write_text(document, encoding="utf-8")
    assert json.loads(report.as_json(result, answers))["answers"]["a?"]["error"] == 0.25


@pytest.mark.parametrize("name", ["table.npz", "it's.npz", 'a"b.npz', "a\\b\n.npz", "{seed}.npz"])
def test_the_code_runs_whatever_a_file_is_called(name, tmp_path, capsys):
    at = tmp_path / name
    np.savez(at.with_suffix(""), **table().arrays())
    written = report.code(Fake.code, path=str(at), upload=table(), seed=7)
    (tmp_path / "code.py").write_text(written)
    runpy.run_path(str(tmp_path / "code.py"))
    assert capsys.readouterr().out == f"{npt.read(at)} 7\n"


@pytest.mark.parametrize(
    ("files", "read"),
    [
        ([], "your_table.npz"),
        (["run 7.csv"], "run 7.csv"),
        (["x.npy", "it's.npy", 'a"b.npy'], ["x.npy", "it's.npy", 'a"b.npy']),
        ([f"{i}.npz" for i in range(9)], "your_folder"),
    ],
)
def test_the_code_names_each_file_and_values_as_they_are(files, read):
    template = "a, b = {table}, [{name}, {other}]"
    written = report.code(template, path=files, upload=table(), name="{table}")
    here = {"other": 1, "npt": SimpleNamespace(read=lambda path: path)}
    exec(written, here)
    assert (here["a"], here["b"]) == (read, ["{table}", {1}])


def test_a_report_reads_all_files_of_its_table():
    read = {"path": "theta.npy", "files": ("theta.npy", "x.npy")}
    document = report.html(diagnosed(table()), {"size": ANSWER}, panels=[Fake()], **read)
    assert "[&#39;theta.npy&#39;, &#39;x.npy&#39;]" in document


def test_the_same_diagnosis_gives_the_same_file():
    result = diagnosed(table())
    same = [report.html(result, {"size": ANSWER}, panels=[Fake()], made=WHEN) for _ in range(2)]
    assert same[0] == same[1]


def test_no_draw_is_inside_unless_asked_for():
    upload = table()
    bare = report.html(diagnosed(upload), made=WHEN)
    assert 'id="draws"' not in bare
    assert "raw draws are not in this file" in bare
    full = report.html(diagnosed(upload), draws=upload.arrays(), made=WHEN)
    stored = np.load(io.BytesIO(base64.b64decode(part(full, "draws"))), allow_pickle=False)
    for name, array in upload.arrays().items():
        np.testing.assert_array_equal(stored[name], array)
    assert Upload.of(dict(stored)).digest == upload.digest


@pytest.mark.parametrize(("n", "k"), [(600, 1000), (3000, 2000)])
def test_draws_that_do_not_fit_stay_out_and_it_says_so(n, k):
    upload = table(n=n, k=k)
    document = report.html(diagnosed(table()), draws=upload.arrays())
    assert size(document) <= report.LIMIT
    assert 'id="draws"' not in document
    assert "do not fit into a report of at most 5 MB" in document


def test_a_report_stays_small_whatever_it_is_about():
    """200 parameters, panels whose figures hold five million points."""
    upload = table(n=2000, k=4, d=200, names=[f"parameter number {i}" for i in range(200)])
    chosen = [Fake(100_000, 7, name=f"panel {i}") for i in range(7)]
    document = report.html(
        diagnosed(upload), {item.name: answer(NUMBERS, item) for item in chosen}, panels=chosen,
        draws=upload.arrays(),
    )  # fmt: skip
    assert size(document) <= report.LIMIT
    sketch = figures_of(document)
    assert len(sketch) == 7 * 7 + 2
    remaining = {len(item["data"][0]["x"]) for item in sketch[:49]}
    assert len(remaining) == 1
    assert 100 <= remaining.pop() < 100_000
    assert "evenly spaced" in document


def test_ten_thousand_parameters_fit():
    rng = np.random.default_rng(0)
    names = [f"parameter {i} with a name of some length" for i in range(10_000)]
    upload = table(n=40, k=2, d=10_000, names=names)
    u = rng.random((10_000, 40))
    arrays = {
        "u": u, "statistics": rng.random(10_000), "pvalues": rng.random(10_000), "k": np.array(2),
        "adjusted": np.ones(10_000), "kinds": np.zeros(1, int),
    }  # fmt: skip
    record = Record("sbc", "SBC", "SBC", "ran", statistic=0.1, pvalue=0.5, arrays=arrays)
    verdict = replace(diagnosis.verdict([record], upload), claims=diagnosed(table()).claims)
    each = {"each": [{"a": float(item), "b": float(other)} for item, other in u[:, :2]]}
    document = report.html(verdict, {"size": answer(each)}, panels=[Fake()])
    assert size(document) <= report.LIMIT
    matches = re.findall(r"The first ([\d,]+) of 10,000 rows", document)
    assert len(matches) == 2
    assert len(figures_of(document)) == 3
    whole = json.loads(unpacked(part(document, "json")))
    assert len(whole["parameters"]) == len(whole["answers"]["size"]["each"]) == 10_000


def test_numbers_that_do_not_fit_are_said():
    rng = np.random.default_rng(0)
    numbers = answer({"numbers": list(rng.random(400_000))})
    document = report.html(diagnosed(table()), {"size": numbers}, panels=[])
    assert size(document) <= report.LIMIT
    assert 'id="json"' not in document
    assert "Every number as JSON takes" in document


def test_two_samples_have_a_report_too():
    rng = np.random.default_rng(0)
    upload = Upload.of({"p": rng.random((50, 2)), "q": rng.random((60, 2))})
    document = report.html(diagnosis.verdict([], upload))
    assert "Two samples, 50 points" in document
    assert "Not enough data" in document


def test_a_report_made_early_says_so():
    document = report.html(diagnosed(table(n=400), pending=2))
    assert "<h2>Testing</h2>" in document
    assert "still to answer" in document


def same(figure):
    fitted = figures.fit_figures([figure], 10**7)
    (first,) = json.loads(unpacked(fitted.packed))
    assert fitted.said == ""
    return first


def test_figures_travel_as_they_are():
    whole = plotly.figure(cloud(500))
    result = same(whole)
    np.testing.assert_allclose(result["data"][0]["x"], whole.data[0].x, rtol=1e-5)
    assert result["layout"]["xaxis"]["range"] == [0, 1]
    assert "template" not in result["layout"]
    go.Figure(result)


@pytest.mark.parametrize("values", [
    [1e-30, 1e-7, -2.5, 0.0, 3.14159265358979, 1e12], [1e300, -1e-300, 0.0], [123456.7, 123457.2],
    [np.nan, np.inf, -np.inf, 1.0], [],
])  # fmt: skip
def test_numbers_keep_six_digits(values):
    figure = go.Figure({"data": [{"type": "scatter", "x": np.array(values)}]})
    result = np.array([np.nan if x is None else x for x in same(figure)["data"][0]["x"]])
    known = np.where(np.isfinite(values), values, np.nan)
    np.testing.assert_allclose(result, known, rtol=1e-5, atol=0)


def test_fewer_points_keep_the_ends_and_what_belongs_to_them():
    x = np.arange(100_000)
    trace = {"type": "scatter", "x": x, "y": x / 7, "marker": {"color": x, "size": 4},
             "text": [str(item) for item in x], "customdata": np.stack([x, x], 1)}  # fmt: skip
    z = np.add.outer(np.arange(600.0), np.arange(900.0) / 1000)
    heat = {"type": "heatmap", "x": np.arange(900), "y": np.arange(600), "z": z}
    figure = go.Figure({"data": [trace, heat]})
    fitted = figures.fit_figures([figure], 60_000)
    assert len(fitted.packed) <= 60_000
    line, warm = json.loads(unpacked(fitted.packed))[0]["data"]
    remaining = len(line["x"])
    assert re.search(rf"more than {remaining:,} points", fitted.said)
    assert (line["x"][0], line["x"][-1]) == (0, 99_999)
    assert line["marker"]["color"] == line["x"]
    assert line["text"] == [str(item) for item in line["x"]]
    assert line["customdata"] == [[item, item] for item in line["x"]]
    np.testing.assert_allclose(line["y"], np.array(line["x"]) / 7, rtol=1e-5)
    assert np.shape(warm["z"]) == (len(warm["y"]), len(warm["x"]))
    rows, columns = warm["y"], warm["x"]
    np.testing.assert_allclose(warm["z"], z[np.ix_(rows, columns)], rtol=1e-5)
    assert (rows[-1], columns[-1]) == (599, 899)


def test_figures_that_never_fit_are_left_out_from_the_end():
    fitted = figures.fit_figures([plotly.figure(cloud(200, seed)) for seed in range(50)], 20_000)
    assert len(fitted.packed) <= 20_000
    assert 0 < fitted.drawn < 50
    assert len(json.loads(unpacked(fitted.packed))) == fitted.drawn
    assert f"the last {50 - fitted.drawn} of 50 figures" in fitted.said


def test_json_has_every_number_and_null_for_none():
    result = diagnosed(table())
    numbers = {"a": np.float32(0.5), "b": [np.nan, np.inf], "c": np.arange(3), 4: None}
    data = orjson.loads(report.as_json(result, {"size": answer(numbers)}))
    text = data["answers"]["size"].pop("sentences")
    assert data["answers"]["size"].pop("notes") == []
    assert data["card"]["title"] == "No problem found"
    assert len(data["card"]["next_steps"]) == 3
    assert text == ["The worst is theta_1.", "It is <i>wide</i>."]
    assert data["answers"]["size"] == {"a": 0.5, "b": [None, None], "c": [0, 1, 2], "4": None}
    assert {**data, **result.to_json(), "answers": data["answers"]} == data
    assert data["names"] == list(result.upload.names)
    assert {"nptlab", "python", "numpy", "torch"} <= set(data["versions"])


def test_json_of_what_is_no_number_is_refused():
    with pytest.raises(TypeError, match="serializable"):
        report.as_json(diagnosed(table()), {"size": answer({"a": object()})})


def lines(content):
    return list(reader.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))


def test_a_table_as_csv():
    rows = [{"Parameter": "µ", "Coverage": 0.1, "n": 3}, {"Parameter": "b", "Bias": -0.25},
            {"Parameter": "c", "Coverage": float("nan"), "n": np.int64(4)}]  # fmt: skip
    content = row_files.csv_table(rows)
    assert content.startswith(b"\xef\xbb\xbf")
    frame = pd.read_csv(io.BytesIO(content))
    assert list(frame) == ["Parameter", "Coverage", "n", "Bias"]
    assert frame["Parameter"].tolist() == ["µ", "b", "c"]
    assert frame["Bias"].tolist()[1] == -0.25
    assert frame["Coverage"].isna().tolist() == [False, True, True]
    assert b",-0.25" in content
    assert row_files.csv_table([]) == b"\xef\xbb\xbf\r\n" or lines(row_files.csv_table([])) == [[]]


@pytest.mark.parametrize("text", [
    "=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1", "＝1", "-x", "+", "-",
    "=cmd|' /C calc'!A0",
])  # fmt: skip
def test_no_cell_is_a_formula(text):
    (head,), (cell,) = lines(row_files.csv_table([{text: text}]))
    assert head == cell == f"'{text}"


@pytest.mark.parametrize("text", ["-1.5", "+2e-3", "-.5", "theta", "'=1", "−3", "", "1e-300"])
def test_numbers_and_plain_words_stay_what_they_are(text):
    assert lines(row_files.csv_table([{"a": text}]))[1] == ([text] if text else [""])


@given(st.lists(st.text(), min_size=1, max_size=4, unique=True), st.text())
@settings(max_examples=300, deadline=None)
def test_any_name_survives_and_none_is_calculated(names, value):
    read = lines(row_files.csv_table([dict.fromkeys(names, value)] * 2))
    assert len(read) == 3
    assert {len(line) for line in read} == {len(names)}
    whole = (*names, *[value] * len(names))
    for given_, cell in zip(whole, (*read[0], *read[1]), strict=True):
        text = given_.encode("utf-8", "replace").decode().replace("\0", "\ufffd")
        assert cell in (text, f"'{text}")
        number = re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", cell, re.ASCII)
        assert number or not cell.lstrip().startswith(("=", "+", "-", "@"))


def opened(content):
    return xarray.open_datatree(io.BytesIO(content), engine="h5netcdf")


def test_a_datatree_opens_again_with_the_ranks_that_were_tested():
    upload = table(names=["mass", "spin"])
    result = diagnosed(upload, seed=3)
    with opened(datatree.datatree(result, upload)) as tree:
        group = tree["prior_sbc"]
        assert list(group.data_vars) == ["mass", "spin"]
        assert group["mass"].dims == ("chain", "draw")
        assert dict(group.sizes) == {"chain": 1, "draw": 120}
        for i, name in enumerate(upload.names):
            np.testing.assert_array_equal(group[name].values[0], result.records[0].arrays["u"][i])
        attrs = tree.attrs
        assert (attrs["n"], attrs["k"], attrs["seed"]) == (120, 30, 3)
        assert attrs["digest"] == upload.digest == group.attrs["digest"]
        assert attrs["version"] == result.to_json()["version"]
        assert json.loads(attrs["diagnosis"])["verdict"] == result.verdict


def test_ranks_without_sbc_are_ranks_too():
    upload = table(n=2000)
    result = diagnosed(upload, (QUICK,))
    u = datatree.pit_values(result, upload)
    assert u.shape == (2, 2000)
    assert ((u >= 0) & (u <= 1)).all()
    assert min(statistics.ks(item).pvalue for item in u) > 1e-4
    assert datatree.datatree(result, upload) == datatree.datatree(result, upload)


def test_odd_names_are_made_safe():
    upload = table(d=len(HOSTILE), names=HOSTILE)
    with opened(datatree.datatree(diagnosed(upload), upload)) as tree:
        names = list(tree["prior_sbc"].data_vars)
        assert len(set(names)) == len(HOSTILE)
        assert all(re.fullmatch(r"\w+", name) for name in names)
        assert not {"chain", "draw"} & set(names)
        long_names = [tree["prior_sbc"][name].attrs["long_name"] for name in names]
        assert long_names == list(upload.names)


def test_many_parameters_are_one_variable():
    upload = table(n=30, k=4, d=201)
    result = diagnosed(upload)
    with opened(datatree.datatree(result, upload)) as tree:
        group = tree["prior_sbc"]
        assert dict(group.sizes) == {"chain": 1, "draw": 30, "parameter": 201}
        value = group["theta"].sel(parameter="theta_7").values[0]
        np.testing.assert_array_equal(value, result.records[0].arrays["u"][6])


@given(st.lists(st.text(max_size=90), min_size=1, max_size=6))
@settings(max_examples=300, deadline=None)
def test_every_variable_has_a_name_of_its_own(names):
    variables = datatree.netcdf_names(names)
    assert len(set(variables)) == len(names)
    assert all(re.fullmatch(r"\w{1,90}", name) for name in variables)


def test_two_samples_have_no_ranks():
    rng = np.random.default_rng(0)
    upload = Upload.of({"p": rng.random((50, 2)), "q": rng.random((60, 2))})
    with pytest.raises(ValueError, match="two samples"):
        datatree.datatree(diagnosis.verdict([], upload), upload)


def test_notes_are_kept_for_a_table_and_outlive_a_restart(tmp_path):
    store = Store(tmp_path)
    assert numbers.load_notes(store, "abc") == ""
    numbers.save_notes(store, "abc", "  First line\r\nsecond\x00 \u202eline\t<b>\n")
    again = Store(tmp_path)
    assert numbers.load_notes(again, "abc") == "First line\nsecond line    <b>"
    assert numbers.load_notes(again, "other") == ""
    again.limit = 1
    again.prune()
    assert numbers.load_notes(again, "abc") != ""
    numbers.save_notes(again, "abc", "  \n")
    assert numbers.load_notes(store, "abc") == ""


def test_notes_have_a_bound(tmp_path):
    store = Store(tmp_path)
    numbers.save_notes(store, "abc", "x" * numbers.LONGEST)
    with pytest.raises(ValueError, match="at most 20,000 characters; got 20,001"):
        numbers.save_notes(store, "abc", "x" * (numbers.LONGEST + 1))
    assert len(numbers.load_notes(store, "abc")) == numbers.LONGEST
    numbers.save_notes(store, "abc", "\ud800 half a letter")
    numbers.load_notes(store, "abc").encode()


def test_a_legend_has_the_lines_that_a_phone_needs_in_a_report():
    """A legend's line that was not reserved lies on the label of the axis."""
    names = "Verdict", "Relabelling within x", "SBC", "TARP", "Conformal C2ST within x"
    legend = tuple((name, "#000000", "circle") for name in names)
    drawn = Drawn("Power", replace(cloud(9), legend=legend), "How it reads.")
    places = FigurePlaces()
    markup = str(places.of([drawn]))
    (figure,) = places.figures
    more = figure.layout.height - drawn.figure.layout.height
    assert more > 0
    assert figure.layout.margin.t - drawn.figure.layout.margin.t == more
    assert f"height:{figure.layout.height}px" in markup
