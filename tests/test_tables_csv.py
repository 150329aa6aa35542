"""Valid and seldom forms of .csv, read as pandas reads them."""

import io
from pathlib import Path

import numpy as np
import pytest

from tests.files import D, K, M, N, columns, csv, refusal, table
from validation_core import tables

ROWS = "".join(f"{i - 3}.5,{i * i}.25\n" for i in range(N))
Q = b"".join(b"%d.5,%d.25\n" % (i, i) for i in range(N))


def points(content):
    """A plain table of two columns, read as the sample p."""
    content = content.encode() if isinstance(content, str) else content
    ((_, upload, _),) = tables.read_files([("p.csv", content), ("q.csv", Q)])
    return upload.data.p.theta


def pandas_points(content, **options):
    pandas = pytest.importorskip("pandas")
    content = content.encode() if isinstance(content, str) else content
    return pandas.read_csv(io.BytesIO(content), **options).to_numpy()


FORMS = {
    "plain": ("a,b\n" + ROWS, {}),
    "comments": ("# by X\n# in 2024\na,b\n# more\n" + ROWS + "# end\n", {"comment": "#"}),
    "separator": ("sep=;\na;b\n" + ROWS.replace(",", ";"), {"sep": ";", "skiprows": 1}),
    "quoted separator": ('"sep=;"\r\na;b\r\n' + ROWS.replace(",", ";").replace("\n", "\r\n"),
                         {"sep": ";", "skiprows": 1}),
    "blank lines": ("\n\na,b\n" + ROWS.replace("\n", "\n\n", 9) + "\n   \n\t\n", {}),
    "no last line end": (("a,b\n" + ROWS).rstrip(), {}),
    "trailing marks": ("a,b,\n" + ROWS.replace("\n", ",\n"), {"usecols": ["a", "b"]}),
    "trailing marks of rows": ("a,b\n" + ROWS.replace("\n", ",\n"), {"index_col": False}),
    "trailing mark of names": ("a,b,\n" + ROWS, {"usecols": ["a", "b"]}),
    "trailing blanks": ("a,b\n" + ROWS.replace("\n", "  \n"), {}),
    "spaces": ("a, b\n" + ROWS.replace(",", " , "), {"skipinitialspace": True}),
    "decimal commas": ("a;b\n" + ROWS.replace(",", ";").replace(".", ","),
                       {"sep": ";", "decimal": ","}),
    "decimal commas and tabs": ("a\tb\n" + ROWS.replace(",", "\t").replace(".", ","),
                                {"sep": "\t", "decimal": ","}),
    "quoted numbers": ('"a","b"\n' + '"' + ROWS.strip().replace(",", '","').replace("\n", '"\n"')
                       + '"\n', {}),
    "mark of byte order": ("\ufeffa,b\n" + ROWS, {}),
    "mark of byte order, no names": ("\ufeff" + ROWS, {"header": None}),
    "old line ends": (("a,b\n" + ROWS).replace("\n", "\r"), {}),
    "old line ends, comments": (("# x\na,b\n# y\n" + ROWS).replace("\n", "\r"), {"comment": "#"}),
    "windows": (("mü,b\n" + ROWS).encode("cp1252"), {"encoding": "cp1252"}),
    "spaces alone": ("a b\n" + ROWS.replace(",", " "), {"sep": r"\s+"}),
    "columns of equal width": (" a      b\n" + ROWS.replace(",", "   ").replace("\n", "  \n "),
                               {"sep": r"\s+"}),
    "spaces, no names": ("# by X\n" + ROWS.replace(",", "  "), {"sep": r"\s+", "header": None,
                                                               "comment": "#"}),
    "spaces and decimal commas": ("a b\n" + ROWS.replace(",", " ").replace(".", ","),
                                  {"sep": " ", "decimal": ","}),
    "spaces and quotes": ('"a" "b"\n' + ROWS.replace(",", " "), {"sep": " "}),
    "quoted decimal commas": ("a,b\n" + "".join(f'{i},"0,{250 * (i % 4)}"\n' for i in range(N)),
                              {"decimal": ","}),
    "units": ("a,b\nkg,\n" + ROWS, {"skiprows": [1]}),
    "units in brackets": ("a;b\n\n(-);(m/s)\n" + ROWS.replace(",", ";"),
                          {"sep": ";", "skiprows": [2]}),
    "exponents": ("a,b\n" + ROWS.replace(".5", ".5E+0"), {}),
}  # fmt: skip


@pytest.mark.parametrize(("content", "options"), FORMS.values(), ids=FORMS)
def test_a_valid_form_of_csv_is_read_as_pandas_reads_it(content, options):
    np.testing.assert_array_equal(points(content), pandas_points(content, **options))


def test_missing_values_of_csv_are_those_of_pandas():
    content = "a,b\n#N/A,1\n,2\nNaN,3\nnull,4\nNA,5\n4,\n" + ROWS
    expected = pandas_points(content)
    assert np.isnan(expected).sum() == 6
    np.testing.assert_array_equal(points(content), expected[6:])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_text_in_quotes_may_hold_marks_line_ends_and_what_looks_like_comments(end):
    content = columns(table())
    rows = N * (K + 1)
    upload = tables.read(csv(content | {"note": ['"a, b\n# c\n\nd;""e"""'] * rows})
                         .replace(b"\n", end.encode()))  # fmt: skip
    assert upload.digest == tables.read(csv(content)).digest
    assert any("note: left unread" in note for note in upload.notes)


def test_the_row_numbers_that_pandas_writes_are_said_to_be_left_out():
    content = columns(table())
    numbered = {"": list(range(N * (K + 1)))} | content
    upload = tables.read(csv(numbered))
    assert upload.digest == tables.read(csv(content)).digest
    assert "A column without a name was not read." in upload.notes


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_blank_columns_and_rows_of_a_sheet_are_passed_over(mark, end):
    content = columns(table())
    lines = csv(content, mark).decode().splitlines()
    blank = [line + 3 * mark for line in lines] + 2 * [mark * (len(content) + 2)]
    plain = tables.read(csv(content))
    for last in ("", end):
        upload = tables.read((end.join(blank) + last).encode())
        assert upload.digest == plain.digest
        assert "2 more columns without a name: not read." in upload.notes
    below = tables.read((end.join(lines) + end + 9 * (mark * (len(content) - 1) + end)).encode())
    assert (below.digest, below.notes) == (plain.digest, plain.notes)


def test_the_last_values_of_a_row_may_be_missing():
    upload = tables.read(csv(columns(table())).rstrip().rpartition(b",")[0] + b",\n")
    assert upload.digest == tables.read(csv(columns(table()))).digest


def test_columns_of_one_name_are_refused_by_it():
    content = csv(columns(table())).replace(b"x_2", b"x_1", 1)
    assert "got x_1 more than once" in refusal(content)


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([[0.5, -1.25], [2.25, 0.0]], id="real"),
        pytest.param([[0.5], [2.25]], id="one column"),
        pytest.param([[j * 7 + i for j in (1, 2, 3)] for i in range(5)], id="whole"),
    ],
)
@pytest.mark.parametrize("mark", [",", ";"])
def test_the_names_that_pandas_gives_columns_are_no_row(rows, mark):
    pandas = pytest.importorskip("pandas")
    content = pandas.DataFrame(rows).to_csv(index=False, sep=mark)
    both = [(name, content.encode()) for name in ("p.csv", "q.csv")]
    ((_, upload, _),) = tables.read_files(both)
    np.testing.assert_array_equal(upload.data.p.theta, rows)
    assert any("is read as the names of columns" in note for note in upload.notes)


@pytest.mark.parametrize(
    "rows", [[[0, 1], [1, 0], [0, 1]], [[0], [2], [1]], [[0, 1]], [[0.0, 1.0], [0.5, 2.5]]]
)
def test_a_first_row_of_numbers_that_may_be_one_is_kept(rows):
    content = "\n".join(",".join(map(str, row)) for row in rows).encode()
    ((_, upload, _),) = tables.read_files([("p.csv", content), ("q.csv", content)])
    np.testing.assert_array_equal(upload.data.p.theta, rows)


def test_names_of_csv_may_stand_in_a_comment_as_numpy_saves_them():
    file = io.StringIO()
    content = columns(table())
    np.savetxt(file, np.column_stack(list(content.values())), delimiter=",",
               header=",".join(content))  # fmt: skip
    upload = tables.read(file.getvalue().encode())
    assert (upload.n, upload.k, upload.dims) == (N, K, (D, M))


def test_arrays_that_numpy_saves_as_text_are_read():
    content = table()
    files = []
    for name in ("theta", "x"):
        file = io.StringIO()
        np.savetxt(file, content[name], header="mass spin" if name == "theta" else "")
        files.append((f"{name}.txt", file.getvalue().encode()))
    draws = io.BytesIO()
    np.save(draws, content["theta_q"])
    ((_, upload, _),) = tables.read_files([*files, ("theta_q.npy", draws.getvalue())])
    np.testing.assert_allclose(upload.data.theta, content["theta"], rtol=1e-6)
    assert (upload.n, upload.k, upload.names) == (N, K, ("mass", "spin"))


def test_a_row_of_units_is_said_and_a_first_row_of_words_is_kept():
    content = csv(columns(table())).decode()
    names, rows = content.split("\n", 1)
    upload = tables.read(f"{names}\n{',kg' * names.count(',')}\n{rows}".encode())
    assert upload.digest == tables.read(content.encode()).digest
    assert any("read as their units" in note for note in upload.notes)
    words = "sample,a,note\n" + "".join(f"{side},{i},w\n" for i in range(60) for side in "pq")
    assert tables.read(words.encode()).n == 60


@pytest.mark.parametrize(
    ("value", "word"),
    [("1,234.50", "thousands=','"), ("1 234,50", "thousands=' '"), ("1.234,50", "thousands='.'"),
     ("-", "na_values='-'"), ("missing", "na_values='missing'")],
)  # fmt: skip
def test_the_line_against_a_value_that_is_no_number_makes_a_file_that_is_read(
    value, word, tmp_path, monkeypatch
):
    pandas = pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    mark, point = (";", ",") if value.endswith(",50") else (",", ".")
    rows = ROWS.replace(",", mark).replace(".", point)
    Path("FILE").write_text(f'a{mark}b\n{rows}2{mark}"{value}"\n')
    with pytest.raises(ValueError, match="in the column 'b' of row") as caught:
        points(Path("FILE").read_bytes())
    line = str(caught.value).partition(": pandas")[2].removesuffix(".")
    assert word in line
    exec(f"pandas{line}", {"pandas": pandas})
    expected = [2.0, 1234.5] if point in value else None
    read = points(Path("table.csv").read_bytes())
    assert len(read) == rows.count("\n") + (expected is not None)
    if expected:
        assert read[-1].tolist() == expected


def lines_of(message):
    """The lines of pandas that a refusal advises."""
    return [f"pandas{part.partition(').to_csv')[0]}).to_csv('table.csv', index=False)"
            for part in message.split("pandas")[1:]]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a;b\n-1.234;-0,132\n377;1,5\n", [[[-1234, -0.132], [377, 1.5]]]),
        ('a,b\n1,"1,203"\n2,"-2,415"\n', [[[1, 1.203], [2, -2.415]], [[1, 1203], [2, -2415]]]),
        ("a;b\n377;1\n1.921;2\n", [[[377, 1], [1921, 2]], [[377, 1], [1.921, 2]]]),
        ("a\tb\n377\t1\n-1.921\t2\n", [[[377, 1], [-1921, 2]], [[377, 1], [-1.921, 2]]]),
    ],
)
def test_a_mark_that_may_be_decimal_or_of_thousands_is_asked_about(
    text, meant, tmp_path, monkeypatch
):
    pandas = pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    Path("FILE").write_text(text)
    with pytest.raises(ValueError, match="thousands") as caught:
        points(text)
    lines = lines_of(str(caught.value))
    assert len(lines) == len(meant)
    for line, wanted in zip(lines, meant, strict=True):
        exec(line, {"pandas": pandas})
        np.testing.assert_allclose(points(Path("table.csv").read_bytes()), wanted)


@pytest.mark.parametrize(
    "rows", ["377;1.921\n", "377;1\n1.92;2\n", "377;1\n0.921;2\n", "1377;1\n1.921;2\n"]
)
def test_points_that_no_thousands_have_are_decimal(rows):
    text = "a;b\n" + rows
    np.testing.assert_allclose(points(text), pandas_points(text, sep=";"))


@pytest.mark.parametrize("first", ["Results of Tuesday\n", "Results, of Tuesday\n\n"])
def test_a_title_above_the_names_is_refused_by_its_words(first):
    content = csv(columns(table())).decode()
    with pytest.raises(ValueError, match="begin with the names of its columns; got 'Results"):
        tables.read((first + content).encode())
    assert tables.read(("# " + first + content).encode()).n == N


def test_names_in_an_old_code_are_read_and_said():
    content = columns(table())
    content["theta_é"] = content.pop("theta_1")
    upload = tables.read(csv(content).decode().encode("cp1252"))
    assert "é" in upload.names
    assert any("Windows-1252" in note for note in upload.notes)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a;b\n" + ROWS.replace(",", ";").replace(".5", ",5"), "'-3,5'"),
        ("a;b\n" + "".join(f"{i + 1},500;{i}\n" for i in range(N)), "'1,500'"),
        ("a,b\n" + "".join(f'"r{i}",{i},1\n' for i in range(9)), "Expected 2 columns, got 3"),
        ("a,b\n1\n" + ROWS, "Expected 2 columns, got 1"),
        ("a,b\n0x10,1\n" + ROWS, "'0x10'"),
        ("a,b\n" + ROWS.replace(".5", ".5 m"), "'-3.5 m'"),
    ],
)
def test_csv_whose_numbers_are_ambiguous_is_refused_with_them(content, words):
    with pytest.raises(ValueError, match="must have 2 values, numbers") as caught:
        points(content)
    assert words in str(caught.value)


@pytest.mark.parametrize("code", ["utf-16", "utf-16-be", "utf-32"])
def test_text_in_two_bytes_is_refused_by_its_code(code):
    assert "A file must be" in refusal(("a,b\n" + ROWS).encode(code))
