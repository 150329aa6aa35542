"""Digits of a generator that stops early."""
