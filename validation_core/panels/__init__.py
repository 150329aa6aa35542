"""Panels of results: each a pure function from a typed result to marks."""
