"""The front door: the command line, the embedded engines and the processes of one machine."""

from store import __version__

__all__ = ["__version__"]
