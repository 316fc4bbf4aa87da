"""What can be set of the simulated provider, all from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from onsale.errors import FrontDoorError


class SettingMissing(FrontDoorError):
    """The simulated provider cannot start."""


@dataclass(frozen=True, slots=True)
class Settings:
    """One provider's settings."""

    url: str
    """Where sellers and buyers reach it, without a slash at the end."""
    secret: str = field(repr=False)
    """`whsec_…`, by which its notices are signed."""
    notify_urls: tuple[str, ...]
    """The seller's addresses for notices; one that does not take one is followed by the next."""
    data_dir: Path
    host: str = "127.0.0.1"
    port: int = 0

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Reads ONSALE_SIMULATED_*, ONSALE_HOST and ONSALE_PORT; raises `SettingMissing`."""
        source = os.environ if environ is None else environ
        names = ("URL", "SECRET", "NOTIFY", "DIR")
        missing = [f"ONSALE_SIMULATED_{name}" for name in names if not source.get(f"ONSALE_SIMULATED_{name}")]
        if missing:
            raise SettingMissing(
                f"{', '.join(missing)} not set. ./run up starts the simulated provider with all it needs; "
                "docs/payments.md says how to start one by hand."
            )
        return cls(
            url=source["ONSALE_SIMULATED_URL"].rstrip("/"),
            secret=source["ONSALE_SIMULATED_SECRET"],
            notify_urls=tuple(source["ONSALE_SIMULATED_NOTIFY"].split(",")),
            data_dir=Path(source["ONSALE_SIMULATED_DIR"]),
            host=source.get("ONSALE_HOST") or "127.0.0.1",
            port=int(source.get("ONSALE_PORT") or 8100),
        )
