"""Makes the two tables anew that the program ships to try a diagnosis on.

    python -m benchmarks.samples

A straight line is observed at five places: x_j = intercept + slope t_j + noise. With a normal
prior and normal noise the posterior is normal in closed form (Bishop, Pattern Recognition and
Machine Learning, 2006, Section 3.3), so that draws of it need no training at all.
"""

from __future__ import annotations

import numpy as np

from validation_core.rng import stream
from validation_core.tables import samples

_N, _K = 400, 50
_PLACES = np.linspace(-1, 1, 5)
_NOISE = 0.5
_WIDTH, _SHIFT = 0.7, np.array([0.0, 0.3])  # of the wrong posterior, in exact posterior sds


def arrays(name: str) -> dict[str, np.ndarray]:
    """The arrays of a sample, made anew: theta (N, 2), x (N, 5), theta_q (N, K, 2), names."""
    rng = stream(0, "sample", name)
    design = np.stack([np.ones_like(_PLACES), _PLACES], axis=1)  # (5, 2)
    covariance = np.linalg.inv(np.eye(2) + design.T @ design / _NOISE**2)
    sd = np.sqrt(np.diag(covariance))  # the design is symmetric, so the posterior is diagonal
    theta = rng.standard_normal((_N, 2))
    x = theta @ design.T + _NOISE * rng.standard_normal((_N, len(_PLACES)))
    mean = x @ design @ covariance / _NOISE**2
    z = rng.standard_normal((_N, _K, 2))
    exact = name == "sample_well_trained"
    q = mean[:, None] + sd * (z if exact else _SHIFT + _WIDTH * z)
    table = {"theta": theta, "x": x, "theta_q": q}
    return {
        **{key: array.astype(np.float32) for key, array in table.items()},
        "theta_names": np.array(["intercept", "slope"]),
        "x_names": np.array([f"x at t = {t:g}" for t in _PLACES]),
    }


def main() -> None:
    """Replace the files."""
    for name in samples.SAMPLES:
        np.savez_compressed(samples.sample_path(name), allow_pickle=False, **arrays(name))


if __name__ == "__main__":
    main()
