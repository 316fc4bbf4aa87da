"""The second phase, from a hold to an order: what is owed, paid and given back, as conditional writes."""
