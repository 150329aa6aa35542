"""Pictures: one vocabulary of marks, their looks, and the renderers of them."""
