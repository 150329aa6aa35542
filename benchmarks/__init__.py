"""Speed and size against what they must reach: `python -m benchmarks [names]`.

One file per group of rows, each with `rows(lab)`. Figures that share cores with a browser or a
server are told beside a floor measured in the same run: read their ratio before their size.
"""

import os

# One thread, before NumPy and torch are imported: that is how the product computes.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
