"""Tickets over HTTP: buyers see, return and give away what is theirs; doors check."""
