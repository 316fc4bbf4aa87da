"""Allocator workers on any number of hosts: what is planned for them, and what runs them."""
