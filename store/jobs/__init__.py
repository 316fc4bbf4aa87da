"""RQ's workers on one machine: programs that end with whoever started them, runs that end with their worker.

What they run is Postgres' to say; RQ's Redis carries it and may be wiped or away at any time.
"""
