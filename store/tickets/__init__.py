"""Tickets: one for each seat or standing place of an order, and what is remembered of them."""
