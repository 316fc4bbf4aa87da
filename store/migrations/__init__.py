"""The schema's history: one revision per change, run by `store.migrate`."""
