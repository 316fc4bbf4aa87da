"""The log of arrivals: a port with a writer's side (gateways) and a reader's side (the allocator)."""

from store.stream.port import Arrivals, Intake, RawEntry
from store.stream.redis_stream import RedisArrivals, RedisIntake

__all__ = ["Arrivals", "Intake", "RawEntry", "RedisArrivals", "RedisIntake"]
