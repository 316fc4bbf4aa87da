"""Proof and measurement: the checker, the load generator, the stampede and the benchmarks."""
