"""`python -m gateway` serves, with its settings from the environment."""

from __future__ import annotations

import logging
import sys

from gateway.app import serve
from gateway.settings import SettingNotValid, Settings
from store import logs
from store.settings import MissingSetting

log = logging.getLogger("onsale.gateway")


def main() -> int:
    logs.begin("gateway")
    try:
        serve(Settings.from_env())
    except (MissingSetting, SettingNotValid) as error:
        log.critical("%s", error)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
