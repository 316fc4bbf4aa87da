"""Paying for holds: providers behind one port, what buyers ask, what providers tell."""
