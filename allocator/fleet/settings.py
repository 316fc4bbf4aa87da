"""What can be set of a host, all from the environment."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from store.errors import OnsaleError
from store.fleet.words import HOST, SLOTS_MAX
from store.settings import EngineUrls

SLOTS_DEFAULT: Final = 2


class HostSettingNotValid(OnsaleError):
    """A setting of a host has a value that none can have."""


@dataclass(frozen=True, slots=True)
class HostSettings:
    """`from_env` reads and checks them."""

    engines: EngineUrls
    rq_url: str
    """The Redis that RQ keeps its queues in."""
    host: str
    slots: int

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> HostSettings:
        """Reads DATABASE_URL, REDIS_URL and ONSALE_*; raises `MissingSetting`, `HostSettingNotValid`."""
        source = os.environ if environ is None else environ
        urls = EngineUrls.from_env(source)
        return cls(
            engines=urls,
            rq_url=source.get("ONSALE_RQ_URL") or urls.redis_url,
            host=_host(source.get("ONSALE_HOST_NAME") or socket.gethostname()),
            slots=_slots(source.get("ONSALE_SLOTS") or str(SLOTS_DEFAULT)),
        )

    @property
    def queue(self) -> str:
        """RQ's queue of this host."""
        return f"onsale-host-{self.host}"


def _host(name: str) -> str:
    if HOST.fullmatch(name) is None:
        raise HostSettingNotValid(
            f"{name!r} cannot be a host's name. Give one with --name (ONSALE_HOST_NAME): up to 64 letters, "
            "digits, dots, dashes and underscores, the first a letter or digit."
        )
    return name


def _slots(written: str) -> int:
    if re.fullmatch(r"[0-9]{1,4}", written) is None or not 1 <= int(written) <= SLOTS_MAX:
        raise HostSettingNotValid(
            f"A host has 1 to {SLOTS_MAX} slots (--slots, ONSALE_SLOTS), not {written!r}."
        )
    return int(written)
