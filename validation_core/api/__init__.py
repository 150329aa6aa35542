"""The Python API, `import validation_core as npt`: tables, analyses and their results.

Everything here is exported lazily by the package itself; see `validation_core.__init__`.
"""
