"""Weak classifiers: a boundary that is shifted and turned, and the power of tests that read it."""
