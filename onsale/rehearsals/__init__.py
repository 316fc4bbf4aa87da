"""Rehearsals that operators asked for, run beside the sale: see `bench.rehearsal` for what one is."""
