"""Figures of the waiting room: `run`."""
