"""What single pages show: studies whose results ship, and the pictures that are made of them."""
