"""What a worker, a reopened page or a link reads of a table is what was tested here."""

import numpy as np
import pytest

import validation_core as npt
from validation_core.diagnosis import comparison, tasks
from validation_core.store import Store
from validation_core.tables import Upload

N, K = 120, 40
RNG = np.random.default_rng(0)
MIDDLE = RNG.uniform(0, 2 * np.pi, N)
NOISE = 0.5 * RNG.standard_normal((N, K + 1))
ANGLES = {
    "theta": np.column_stack([(MIDDLE + NOISE[:, 0]) % (2 * np.pi), RNG.standard_normal(N)]),
    "x": np.stack([np.cos(MIDDLE), np.sin(MIDDLE)], 1),
    "theta_q": np.stack(
        [(MIDDLE[:, None] + NOISE[:, 1:]) % (2 * np.pi), RNG.standard_normal((N, K))], 2
    ),
}
WEIGHTED = ANGLES | {
    "log_w": 0.3 * RNG.standard_normal(N),
    "log_w_draws": 0.3 * RNG.standard_normal((N, K)),
}
IMAGE = {
    "theta": RNG.standard_normal((N, 3, 4)),
    "x": RNG.standard_normal((N, 2)),
    "theta_q": RNG.standard_normal((N, K, 3, 4)),
    "x_o": np.zeros(2),
    "theta_o": RNG.standard_normal((7, 3, 4)),
}
CASES = {
    "angles": (ANGLES, {}),
    "angles of weighted draws": (WEIGHTED, {}),
    "angles read as plain numbers": (ANGLES, {"circular": ()}),
    "weighted ones too": (WEIGHTED, {"circular": ()}),
    "a period of one's own": (ANGLES, {"circular": {"theta_2": 24.0}}),
    "an image": (IMAGE, {}),
}


def kept(upload, folder):
    """The upload as another process reads it from the store."""
    store = Store(folder)
    tasks.save_upload(store, upload)
    tasks.live_uploads.clear()
    return tasks.load_upload(store, upload.digest)


@pytest.mark.parametrize(("arrays", "options"), CASES.values(), ids=CASES)
def test_the_store_and_a_file_give_back_what_was_read(arrays, options, tmp_path):
    upload = Upload.of(arrays, **options)
    path = npt.Table(**arrays, **options).save(tmp_path / "table.npz")
    for again in (kept(upload, tmp_path / "store"), npt.read(path).upload):
        assert again.digest == upload.digest
        assert again.periods == upload.periods
        assert again.image == upload.image
        assert not again.warnings
        np.testing.assert_array_equal(again.data.q, upload.data.q)


def test_tables_of_angles_can_be_compared_from_the_store(tmp_path):
    """The second's angles lie about other middles: by whole periods apart."""
    moved = {**ANGLES, "theta_q": (ANGLES["theta_q"] + [0.4, 0.0]) % (2 * np.pi)}
    read = [kept(Upload.of(arrays), tmp_path) for arrays in (ANGLES, moved)]
    assert comparison.unlike(*read) is None


def test_angles_in_two_intervals_are_still_told():
    draws = ANGLES["theta_q"].copy()
    draws[..., 0] = (draws[..., 0] + np.pi) % (2 * np.pi) - np.pi
    upload = Upload.of({**ANGLES, "theta_q": draws}, circular=("theta_1",))
    assert "wrap them alike" in " ".join(upload.warnings)
