"""High dimensions: what the page shows of spheres, images and lenses."""
