"""Buyers: their tokens, their sockets and requests, and the intake that appends them."""
