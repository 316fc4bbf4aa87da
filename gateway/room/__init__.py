"""The waiting room as buyers meet it: joining, status, places, and what keeps it fair."""
