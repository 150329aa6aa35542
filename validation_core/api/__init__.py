"""What `import validation_core as npt` offers: tables, questions about them, and their results.

Everything here is exported lazily by the package itself; see `validation_core.__init__`.
"""
