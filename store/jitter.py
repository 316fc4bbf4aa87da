"""Waits of random length: those who failed together do not come back together."""

from __future__ import annotations

from random import Random

jitter = Random().uniform
"""(least, most) → seconds between them. A generator of its own: whoever seeds Python's shared one must not
make processes wait alike."""
