"""The storm's parts: a stage with a payment provider and a webhook sink, buyers who pay, faults, a judge.

`plan.py` says who pays how and what breaks when (pure, from a seed); `stage.py` and `sink.py` are what runs;
`buyers.py` pay, `faults.py` break; `rows.py` reads the tables, `judge.py` judges them (pure), `show.py`
prints.
"""
