"""The fleet: hosts that run allocator workers, which event each of them attends to, and why that changed.

Rows here say what is wanted and what was last heard; who may decide for an event is its lease alone
(`allocator.lease`). All of them can be lost: workers enlist again, the planner assigns anew.
"""
