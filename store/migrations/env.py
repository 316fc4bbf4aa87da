"""Alembic's entry: runs the revisions on the connection that `store.migrate` hands over."""

from __future__ import annotations

from alembic import context

from store.tables import metadata

connection = context.config.attributes.get("connection")
assert connection is not None, "migrations run through store.migrate.upgrade, which brings the connection"

# The caller's transaction holds the lock that keeps two starters apart: all revisions run in it.
context.configure(connection=connection, target_metadata=metadata, transaction_per_migration=False)
context.run_migrations()
