"""Numbers and words as a user reads them."""

import subprocess
import sys

import numpy as np
import pytest

from validation_core import text


@pytest.mark.parametrize(
    ("p", "written"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (0.0, "< 1e-300"),
        (text.SMALLEST, "< 1e-300"),
        (3.2e-13, "3.2e-13"),
        (1e-5, "1.0e-5"),
        (0.00099, "9.9e-4"),
        (0.001, "0.001"),
        (0.034, "0.034"),
        (0.994, "0.99"),
        (0.995, "1"),
        (1.0, "1"),
    ],
)
def test_pvalues_have_two_digits_and_are_never_0(p, written):
    assert text.pvalue_text(p) == written
    assert text.equals(p) == (written if written.startswith("<") else f"= {written}")


@pytest.mark.parametrize(
    ("p", "written"),
    [
        (0.0504, "0.0504"),
        (0.05001, "0.05001"),
        (0.05, "0.05"),
        (np.float32(0.05), "0.05"),
        (0.0496, "0.05"),
        (0.1001, "0.1001"),
        (0.01004, "0.01004"),
        (0.0516, "0.052"),
    ],
)
def test_a_pvalue_above_a_level_is_not_written_as_the_level(p, written):
    """A test that rejects at p <= 5% and one that does not are told apart by what is written."""
    assert text.pvalue_text(p) == written
    assert text.said_pvalue(p) == written


@pytest.mark.parametrize(
    ("p", "written"),
    [
        (0.0, "< 0.0001"),
        (np.float32(1e-60), "< 0.0001"),
        (9.9e-5, "< 0.0001"),
        (1e-4, "0.0001"),
        (1.8e-4, "0.0002"),
        (0.00099, "0.001"),
        (0.0013, "0.0013"),
        (0.043, "0.043"),
        (1.0, "1"),
    ],
)
def test_a_sentence_says_no_pvalue_below_one_in_ten_thousand(p, written):
    assert text.said_pvalue(p) == written
    assert text.said_equals(p) == (written if written.startswith("<") else f"= {written}")


@pytest.mark.parametrize(
    ("value", "form", "written"),
    [
        (-1.25, ".1f", "−1.2"),
        (1.25, "+.2f", "+1.25"),
        (-0.001, ".2f", "0.00"),
        (-0.001, "+.2f", "0.00"),
        (0.0, "+.1%", "0.0%"),
        (-0.0, "g", "0"),
        (-1e-5, ".2g", "−1e−05"),
        (-12345.6, ",.0f", "−12,346"),
        (float("nan"), ".2f", "nan"),
        (float("-inf"), ".2f", "−inf"),
        (np.float32(-0.5), ".2f", "−0.50"),
        (np.int64(-3), ".1f", "−3.0"),
    ],
)
def test_signs_are_proper_and_zeros_have_none(value, form, written):
    assert text.signed_text(value, form) == written


@pytest.mark.parametrize(
    ("ends", "form", "written"),
    [
        ((-0.12, -0.31, 0.07), ".2f", "−0.12 [−0.31, 0.07]"),
        ((0.5, 0.25, 0.75), ".0%", "50% [25, 75]"),
        ((0.1, -0.0001, 0.2), "+.2f", "+0.10 [0.00, +0.20]"),
        ((float("inf"), 1, float("inf")), ".1f", "inf [1.0, inf]"),
    ],
)
def test_intervals_follow_their_estimate(ends, form, written):
    assert text.interval_text(ends, form) == written


def test_intervals_have_two_decimals():
    assert text.interval_text(iter((1, 0.5, 2))) == "1.00 [0.50, 2.00]"


@pytest.mark.parametrize(
    ("value", "scale", "written"),
    [
        (1.4, 1.2, "1.4"),
        (-1.2345, 100.0, "−1.23"),
        (999_312.4, 1000.0, "999300"),
        (1_000_312.4, 558.0, "1000310"),
        (1e9 + 12.5, 0.3, "1000000012.5"),
        (5e-9, 2e-9, "5e−09"),
        (1.0, 0.0, "1"),
        (0.0, 1.0, "0"),
        (float("inf"), 1.0, "inf"),
    ],
)
def test_a_number_has_the_digits_that_tell_it_from_its_neighbours(value, scale, written):
    assert text.scaled_text(value, scale) == written


@pytest.mark.parametrize(
    ("value", "digits", "written"),
    [
        (0.0, 3, "0"),
        (-0.0, 3, "0"),
        (100.0, 1, "100"),
        (1234.5, 3, "1230"),
        (-1.0199, 3, "−1.02"),
        (0.0001234, 2, "0.00012"),
        (0.00001234, 2, "1.2e−05"),
        (9_999_999, 3, "1e+07"),
        (float("inf"), 3, "inf"),
    ],
)
def test_numbers_are_written_out_unless_far_from_1(value, digits, written):
    assert text.number_text(value, digits) == written


@pytest.mark.parametrize(
    ("counts", "written"), [([100], "100"), ([100, 20, 50], "20 to 100"), ([7, 7], "7")]
)
def test_counts_that_differ_are_told_by_their_ends(counts, written):
    assert text.range_text(iter(counts)) == written


@pytest.mark.parametrize(
    ("count", "written"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (1200, "1,200 rows")]
)
def test_nouns_agree_with_their_count(count, written):
    assert text.count_text(count, "row") == written


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.7, "1 min 0 s"),
        (150, "2 min 30 s"),
        (3599.6, "1 h 0 min"),
        (7300, "2 h 1 min"),
    ],
)
def test_durations_are_said_as_a_person_does(seconds, written):
    assert text.duration_text(seconds) == written


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (0, "about 10 s"),
        (14, "about 10 s"),
        (89, "about 90 s"),
        (90, "about 2 min"),
        (89.4 * 60, "about 89 min"),
        (90 * 60, "about 2 h"),
        (3 * 3600, "about 3 h"),
    ],
)
def test_durations_are_guessed_in_round_numbers(seconds, written):
    assert text.rough_duration_text(seconds) == written


def test_places_are_numbered():
    assert text.numbered(0) == []
    assert text.numbered(2) == ["1 of 2", "2 of 2"]


@pytest.mark.parametrize(
    ("words", "written"),
    [([], ""), (["a"], "a"), (("a", "b"), "a and b"), (["a", "b", "c"], "a, b and c")],
)
def test_lists_join_their_last_two(words, written):
    assert text.list_text(words) == written


def test_lists_of_choices_say_or():
    assert text.list_text("abc", "or") == "a, b or c"


@pytest.mark.parametrize(
    ("shown", "written"), [(1, "a and 2 more"), (2, "a, b and 1 more"), (3, "a, b, c")]
)
def test_what_is_not_named_is_counted(shown, written):
    assert text.first_text(["a", "b", "c"], shown) == written
    assert text.first_text([], shown) == ""


@pytest.mark.parametrize(
    ("shown", "written"), [(1, "a, …"), (2, "a, b, …"), (3, "a, b, c"), (4, "a, b, c")]
)
def test_lists_that_go_on_say_so(shown, written):
    assert text.begun_text(["a", "b", "c"], shown) == written


@pytest.mark.parametrize(
    ("alpha", "written"), [(0.05, "5%"), (0.005, "0.5%"), (0.07, "7%"), (1e-5, "0.001%")]
)
def test_levels_are_never_rounded_to_0(alpha, written):
    assert text.level_text(alpha) == written


def test_how_many_more_there_are():
    assert [text.more_text(count) for count in (-1, 0, 1, 1200)] == [
        "",
        "",
        " and 1 more",
        " and 1,200 more",
    ]


@pytest.mark.parametrize(
    ("small", "capital"),
    [("", ""), ("a", "A"), ("the AUC of q", "The AUC of q"), ("élan", "Élan")],
)
def test_sentences_begin_with_a_capital_alone(small, capital):
    assert text.capitalise(small) == capital
    assert text.uncapitalise(capital) == small
    assert text.capitalise(capital) == capital


def test_q_stays_small_at_the_beginning_of_a_sentence():
    assert text.capitalise("q is too wide") == "q is too wide"
    assert text.capitalise("q's tails are light") == "q's tails are light"
    assert text.capitalise("quantiles differ") == "Quantiles differ"


@pytest.mark.parametrize(
    ("share", "percent"),
    [
        (0.0, "0%"), (0.00517, "0.52%"), (0.0517, "5.2%"), (0.5171, "52%"), (0.99, "99%"),
        (0.9964, "99.6%"), (1.0, "100%"), (0.99962, "99.96%"), (0.999999, "99.9999%"),
        (1 + 1e-14, "100%"), (1 - 1e-14, "100%"),
    ],
)  # fmt: skip
def test_a_share_is_a_percentage_of_two_digits(share, percent):
    assert text.share_text(share) == percent


def test_names_in_code_are_readable():
    assert text.readable_name("mean_shift_of_x") == "mean shift of x"


def test_text_needs_no_package_but_numpy():
    code = (
        "import sys, importlib.util as u; before = {*sys.modules}; "
        f"spec = u.spec_from_file_location('text', {text.__file__!r}); "
        "spec.loader.exec_module(u.module_from_spec(spec)); print(*{*sys.modules} - before)"
    )
    python = [sys.executable, "-c", code]
    loaded = subprocess.run(python, capture_output=True, text=True, check=True).stdout.split()
    packages = {name.split(".")[0] for name in loaded} - sys.stdlib_module_names
    assert packages == {"numpy"}


def test_no_p_value_is_shown_before_it_is_what_it_will_be():
    changes = "q's error changes over x (p = 0.003), most where a < 3 (20%)."
    assert text.without_pvalues(changes) == "q's error changes over x, most where a < 3 (20%)."
    assert text.without_pvalues("Looks wrong (L-C2ST, p < 1e-300): more.") == "Looks wrong: more."
    assert text.without_pvalues("L-C2ST gives p = 0.3 and so on.") == ""
