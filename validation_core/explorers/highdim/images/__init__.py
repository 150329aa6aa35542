"""Photographs and their corruptions."""
