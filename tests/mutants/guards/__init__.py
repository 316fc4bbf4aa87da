"""The list of guards, by room and subject."""
