"""Pictures of the page High dimensions."""
