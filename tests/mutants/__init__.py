"""Deliberate faults in the guards, and the tests that must notice each of them."""
