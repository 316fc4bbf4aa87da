"""What operators watch while it happens: one reading for all of a gateway's consoles, and their websocket."""
