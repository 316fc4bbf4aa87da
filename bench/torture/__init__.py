"""The torture: a real onsale under load, broken in every way that is known, and judged by what everybody saw.

`schedule.py` says what breaks when (pure, from a seed), `faults.py` does it to the processes and
connections of `stage.py`, `fleet.py` are the buyers, `rounds.py` puts them together, `judging.py` asks
the checker, `run.py` counts.
"""
