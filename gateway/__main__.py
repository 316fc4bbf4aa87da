"""`python -m gateway` serves, with its settings from the environment."""

from __future__ import annotations

import logging
import sys

from gateway.app import serve
from gateway.settings import SettingNotValid, Settings
from store.settings import MissingSetting


def main() -> int:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    try:
        serve(Settings.from_env())
    except (MissingSetting, SettingNotValid) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
