"""Files right and wrong by the hundred: the only outcomes are an upload or a one-line refusal.

`--hypothesis-profile thousands` tries ten times as many of each format, the same ones every time.
"""

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.mutations import FORMATS, LIMIT, bytes_changed
from validation_core import tables
from validation_core.tables import Upload, guarded_file

VARIANTS = 300  # structures of a file; their bytes are changed further


@pytest.mark.parametrize("examples", [100, pytest.param(None, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", FORMATS)
def test_only_an_upload_or_a_refusal_comes_out(kind, examples, monkeypatch):
    """Some fresh examples every time; as many as the profile says if slow."""
    monkeypatch.setattr(guarded_file, "SECONDS", 2.0)  # some damage makes the HDF5 library hang
    examples = examples or settings.default.max_examples
    seen = {"read": 0, "refused": 0}
    stem = {"npy": ["theta", "p", "x_o"], "csv": ["table", "p"], "parquet": ["table", "q"]}

    @lru_cache(maxsize=VARIANTS)
    def variant(number):
        return FORMATS[kind](np.random.default_rng(number))

    @settings(suppress_health_check=list(HealthCheck), max_examples=examples)
    @given(st.integers(0, VARIANTS - 1), st.integers(0, 2**62), st.booleans())
    def tried(number, seed, damaged):
        rng = np.random.default_rng(seed)
        fresh = kind in ("npz", "npy")
        content = FORMATS[kind](rng) if fresh else variant(number)
        if damaged:
            content = bytes_changed(content, rng)
        name = f"{rng.choice(stem.get(kind, ['table']))}.{kind}"
        order = [None, "NKD", "KND"][number % 3]
        try:
            upload = tables.read(content, name=name, order=order, limit=LIMIT)
        except ValueError as refusal:
            message = str(refusal)
            assert message.strip()
            assert "\n" not in message
            assert "got" in message
            assert len(message) < 2000
            seen["refused"] += 1
        else:
            assert isinstance(upload, Upload)
            assert upload.n > 0
            assert all(a.dtype.kind == "f" for a in upload.arrays().values())
            assert np.isfinite(upload.arrays().get("theta", 0.0)).all()
            assert sum(a.nbytes for a in upload.arrays().values()) <= LIMIT
            seen["read"] += 1

    tried()
    assert sum(seen.values()) >= examples
    assert seen["refused"] > examples // 10
    assert seen["read"] > 0 or kind == "npy"  # one array alone is no table
