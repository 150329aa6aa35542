"""NPT Lab: is a learned posterior right, and if not, where and how is it wrong?

    import validation_core as npt

    table = npt.read("table.npz")            # or npt.Table(theta, x, theta_q, names=[...])
    result = npt.diagnose(table)
    result.verdict, result.pvalue
    result["calibration"].to_frame()
    result.save("report.html")

A test of a posterior scores a reference draw and the estimator's draws with the same function,
fixed beforehand, and asks whether the scores look alike. Names are imported when they are first
used: torch only where something is learnt.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
