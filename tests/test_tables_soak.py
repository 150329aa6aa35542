"""100,000 generated files: an upload or a refusal of one line, in bounded memory and time.

A share of them runs with the other tests; all do with `-m soak`, which prints what came of them.
A file is made again by its number: `mutations.mutant(number)`.
"""

import re
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.mutations import LIMIT, mutant
from validation_core import tables
from validation_core.tables import Upload, guarded_file
from validation_core.types import PosteriorTable

SHARE, ALL = 600, 100_000
_RULE = re.compile(r"; got|missing: |must|at most")


def outcome(number):
    """What came of a file: read, or the rule that refused it.

    Raises:
        AssertionError: for anything that is neither.
    """
    made = mutant(number)
    order = (None, "NKD", "KND")[number // 7 % 3]
    try:
        upload = tables.read(made.content, name=made.name, order=order, limit=LIMIT)
    except (tables.AmbiguousOrder, tables.UnknownArrays, ValueError) as refusal:
        kind, message = type(refusal), str(refusal)
        assert kind in (ValueError, tables.AmbiguousOrder, tables.UnknownArrays)
        assert _is_one_line(message), message
        assert _RULE.search(message), message
        assert len(message) < 2000, message
        assert "over which that fails" not in message, message
        return re.split(r"; got|; missing|: missing", message)[0]
    _check(upload)
    if made.kind == "npz" and not {"pieces", "members"} & {*made.changes}:
        _check_sums(upload, made, order)
    return "read"


def _check_sums(upload, made, order):
    """No number of an archive is another than was saved: checksums tell."""
    try:
        saved = tables.read(made.base, name=made.name, order=order, limit=LIMIT).arrays()
    except ValueError:
        return
    for name, array in upload.arrays().items():
        if name in saved:
            np.testing.assert_array_equal(array, saved[name])


def _is_one_line(text):
    return bool(text.strip()) and text.isprintable()


def _check(upload):
    """All that is promised of a table that was read."""
    assert isinstance(upload, Upload)
    arrays = upload.arrays()
    assert sum(array.nbytes for array in arrays.values()) <= 2 * LIMIT
    assert all(array.dtype in (np.float32, np.float64) for array in arrays.values())
    for name in ("theta", "x", "theta_q", "p", "q", "x_o", "theta_o"):
        assert np.isfinite(arrays.get(name, 0.0)).all(), name
    d, m = upload.dims
    if isinstance(upload.data, PosteriorTable):
        assert arrays["theta"].shape == (upload.n, d)
        assert arrays["x"].shape == (upload.n, m)
        assert arrays["theta_q"].shape == (upload.n, upload.k, d)
    else:
        assert arrays["p"].shape[1] == arrays["q"].shape[1] == d
    assert len(upload.names) == d
    texts = (*upload.names, *upload.x_names, *upload.notes, *upload.warnings)
    assert all(map(_is_one_line, texts)), texts


def _resident():
    """Bytes that this process holds; 0 where the system does not tell."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    return 1024 * int(status.read_text().partition("VmRSS:")[2].split()[0])


@pytest.fixture
def peaks(monkeypatch):
    """Bytes that each child held at most, as far as it lived to say."""
    seen = [0]
    give = guarded_file.ReaderPool.give

    def given(children, child):
        seen[0] = max(seen[0], child.peak)
        give(children, child)

    monkeypatch.setattr(guarded_file.ReaderPool, "give", given)
    # Damage makes the HDF5 library hang now and then.
    monkeypatch.setattr(guarded_file, "SECONDS", 2.0)
    return seen


@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param(range(SHARE), id="share"),
        pytest.param(range(ALL), id="all", marks=[pytest.mark.soak, pytest.mark.timeout(0)]),
    ],
)
def test_of_generated_files_comes_a_table_or_a_refusal(numbers, peaks):
    outcomes, kinds = Counter(), Counter()
    longest = (0.0, -1)
    outcome(0)
    before = most = _resident()
    for number in numbers:
        begun = time.perf_counter()
        try:
            came = outcome(number)
        except Exception as error:
            raise AssertionError(f"file {number}") from error
        longest = max(longest, (time.perf_counter() - begun, number))
        outcomes[came] += 1
        kinds[mutant(number).kind, came == "read"] += 1
        most = max(most, _resident())
    print(f"\n{len(numbers):,} files, {outcomes['read']:,} read, longest {longest[0]:.1f} s (file "
          f"{longest[1]})\nserver +{(most - before) / 1e6:.0f} MB, children at most "
          f"{peaks[0] / 1e6:.0f} MB")  # fmt: skip
    print(*(f"{count:7,}  {rule}" for rule, count in outcomes.most_common(60)), sep="\n")
    print(*sorted(kinds.items()), sep="\n")
    assert outcomes["read"] > len(numbers) // 20
    assert len(outcomes) > 20
    assert peaks[0] <= guarded_file.MEMORY
    assert most - before <= 100e6
