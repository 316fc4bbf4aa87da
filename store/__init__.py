"""What is durable: Postgres, the event streams, and the words and wire forms every room shares."""

from pathlib import Path

__version__ = "0.1.0"

REPOSITORY = Path(__file__).resolve().parents[1]
"""Where onsale's code is."""
