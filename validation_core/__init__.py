"""The compute core of NPT Lab: a test of a posterior scores a reference draw and the estimator's
draws with the same function, fixed beforehand, and asks whether the scores look alike."""

__version__ = "0.1.0"
