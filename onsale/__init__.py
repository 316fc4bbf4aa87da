"""The front door: the command line, the embedded engines and the processes of one machine."""

__version__ = "0.1.0"
