"""The single writer of an event: decides in arrival order, makes it true, tells who waits."""
