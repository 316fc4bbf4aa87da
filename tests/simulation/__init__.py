"""Whole on-sales in virtual time: the real allocator and gateway code between virtual engines."""
