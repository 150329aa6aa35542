"""The papers' printed numbers: all of them, each as its text has it."""

import re

import pytest

from validation_core import published
from validation_core.published import TABLES
from validation_core.text import value_text

COUNTS = {
    "Table 2 (a)": 56, "Table 2 (b)": 24, "Table 3": 20, "Table 4": 20, "Section 1": 4,
    "Appendix C.5": 2,
}  # fmt: skip


def test_they_are_126():
    assert {table.where: len(table.numbers) for table in TABLES} == COUNTS
    assert sum(COUNTS.values()) == 126


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.where)
def test_a_table_is_whole(table):
    for rows in (table.values, table.errors):
        assert all(len(row) == len(table.places) for row in rows.values())
    assert table.errors.keys() in (set(), set(table.values))
    assert len({value_text(place) for place in table.places}) == len(table.places)
    for number in table.numbers:
        if table is not published.CURVATURE:
            assert 0 <= table.rate(number.row, number.place) <= 1


def printed(table, row, place):
    return table.text(table.at(row, place))


def test_numbers_have_their_printed_digits():
    assert printed(published.BLIND_PRIOR, "CoLT Full", (10, 10)) == "0.778 ± 0.222"
    assert printed(published.TYPE_ONE, "C2ST", (3, 3)) == "0.0767 ± 0.0044"
    assert printed(published.LENSING_GAMMA, "CU(50)", 0.6) == "66"
    assert published.LENSING_GAMMA.rate("DC", 0.0) == 0.1
    assert printed(published.TREE, "CoLT Full", 1.5) == "0.877"


def test_lensing_agrees_with_its_text(shared):
    text = (shared / "papers" / "conformal-c2st.txt").read_text(encoding="utf-8")
    for table, tests in (
        (published.LENSING_GAMMA, ("AutoML", "C2ST", "DC", "MMDFuse", "SBC", "TARP", "CM")),
        (published.LENSING_BETA, ("AutoML", "C2ST", "CM")),
    ):
        tests = (*tests, "CU(50)")
        (found,) = re.findall(rf"\S* {re.escape(' '.join(tests))} ([\d. ]+)$", text, re.MULTILINE)
        words = list(map(float, found.split()))
        rows = [words[i : i + len(tests) + 1] for i in range(0, len(words), len(tests) + 1)]
        assert [row[0] for row in rows] == list(table.places)
        for place, *values in rows:
            assert [table.at(test, place).value for test in tests] == values


@pytest.mark.parametrize(
    ("table", "title"),
    [(published.BLIND_PRIOR, "Table 3: Stat"), (published.TYPE_ONE, "Table 4: Type")],
)
def test_colt_agrees_with_its_text(shared, table, title):
    text = (shared / "papers" / "colt.txt").read_text(encoding="utf-8")
    above = text[: text.index(title)].rpartition("\nMethod ")[2]
    for row in table.values:
        (found,) = re.findall(rf"^{row} ((?:[\d.]+ ± [\d.]+ ?){{4}})$", above, re.MULTILINE)
        pairs = re.findall(r"([\d.]+) ± ([\d.]+)", found)
        assert [(n.value, n.se) for n in table.numbers if n.row == row] == [
            (float(value), float(se)) for value, se in pairs
        ]


def test_the_rest_of_colt_agrees_with_its_text(shared):
    text = (shared / "papers" / "colt.txt").read_text(encoding="utf-8")
    for said in (
        "power = 0.877", "power = 0.000", "perfect power (1.000)", "power of 0.065",
        "approximately 62", "around 400",
    ):  # fmt: skip
        assert said in text
    tree, curvature = published.TREE.values, published.CURVATURE.values
    assert (tree["CoLT Full"], tree["C2ST"]) == ((0.877, 1.0), (0.0, 0.065))
    assert curvature == {"Curvature": (62, 400)}
