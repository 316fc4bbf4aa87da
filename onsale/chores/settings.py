"""What can be set of the chores, all from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from onsale.engines.data_dir import default_data_dir
from onsale.errors import FrontDoorError
from store.settings import EngineUrls

MAIL_FROM: Final = "tickets@localhost"
PUBLIC_URL: Final = "http://127.0.0.1:8000"


class ChoreSettingNotValid(FrontDoorError):
    """A setting of the chores has a value they cannot work with."""


@dataclass(frozen=True, slots=True)
class ChoreSettings:
    """`from_env` reads and checks them."""

    engines: EngineUrls
    rq_url: str
    """The Redis that RQ keeps its queues in; its keys begin with rq:, an event's with onsale:."""
    mail_dir: Path
    """Where mails go while there is no mail server."""
    smtp_url: str = ""
    mail_from: str = MAIL_FROM
    public_url: str = PUBLIC_URL
    """Where buyers reach the pages, without a slash at the end."""
    time_zone: tzinfo = UTC
    """In which dates are told in mails."""
    beat: Path | None = None
    """The file whose age tells the health check whether this host's chores go on (`onsale.chores.heard`)."""

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> ChoreSettings:
        """Reads DATABASE_URL, REDIS_URL and ONSALE_*; raises `MissingSetting`, `ChoreSettingNotValid`."""
        source = os.environ if environ is None else environ
        urls = EngineUrls.from_env(source)
        smtp_url, mail_from = source.get("ONSALE_SMTP_URL", ""), source.get("ONSALE_MAIL_FROM", "")
        if smtp_url and not smtp_url.startswith(("smtp://", "smtps://")):
            raise ChoreSettingNotValid(
                "ONSALE_SMTP_URL must be smtp://user:password@host:587 or smtps://…:465."
            )
        if smtp_url and "@" not in mail_from:
            raise ChoreSettingNotValid(
                "ONSALE_SMTP_URL sends mails: set ONSALE_MAIL_FROM to their sender as well."
            )
        return cls(
            engines=urls,
            rq_url=source.get("ONSALE_RQ_URL") or urls.redis_url,
            mail_dir=default_data_dir(source) / "mail",
            smtp_url=smtp_url,
            mail_from=mail_from or MAIL_FROM,
            time_zone=_time_zone(source.get("ONSALE_TIME_ZONE") or "UTC"),
            public_url=(source.get("ONSALE_PUBLIC_URL") or PUBLIC_URL).rstrip("/"),
            beat=Path(beat) if (beat := source.get("ONSALE_CHORES_BEAT")) else None,
        )


def _time_zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ChoreSettingNotValid(
            f"ONSALE_TIME_ZONE must be a time zone's name, such as Europe/Berlin, not {name!r}."
        ) from error
