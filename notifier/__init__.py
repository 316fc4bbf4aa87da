"""What goes back to buyers: the hub of sockets, which the gateway mounts."""
