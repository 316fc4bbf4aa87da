"""Rehearsals that operators asked for: who, of what, how far, and what came of it."""
