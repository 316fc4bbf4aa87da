"""Events that share: one process attends to hundreds that little happens in, on a handful of connections.

| module | a thread that | its connections |
|---|---|---|
| `loading` | loads memory, one event after the other | Postgres |
| `standing_by` | looks at all leases, follows, takes over | Postgres |
| `owning` | owns all that were taken | Postgres (the leases name it), two to the stream |
| `rooms` | keeps their waiting rooms | Postgres, the stream |

An event is handed from thread to thread and never shared between two (`group`). What a batch is, and what
guards it, is the loop's and the truth's as for any event (`allocator.loop`, `allocator.truth`). What is
different: where the connection that owns dies, none of them is owned any more, and each is loaded and taken
again; and where somebody else takes one from a process that is stuck, that ends the connection of all, and
all are free.
"""
