"""Explorers of single pages: studies whose results ship, and the pictures drawn from them."""
