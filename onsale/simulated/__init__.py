"""The simulated payment provider: an honest little stand-in for a real one, with switches for its faults.

Anybody who reaches it can pay for anything: it is for demos, tests and rehearsals.
"""
