"""The waiting room as buyers meet it."""
