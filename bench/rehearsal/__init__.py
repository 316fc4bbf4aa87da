"""A rehearsal: a stampede against a copy of an event, gate on and off, and a sizing from what it measured."""
