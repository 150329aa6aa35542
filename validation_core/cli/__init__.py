"""The commands of `python -m validation_core`, one module each."""
