"""Pictures: one vocabulary of marks, their styles, and their renderers."""
