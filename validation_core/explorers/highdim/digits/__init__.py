"""Digits of a generator whose sampler stops early."""
