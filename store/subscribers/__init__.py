"""Who is told what becomes true, how far each was told, and what could not be delivered yet."""
