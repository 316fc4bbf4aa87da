"""The human check on buyers' pages: whose script shows it, and what a browser has to allow for that. Pure.

Only where it is set, and only on pages where somebody joins; all others load nothing from elsewhere.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

LENGTH_MAX: Final = 500
_PLAIN: Final = re.compile(r"(https?)://([A-Za-z0-9.-]+)(:[0-9]{1,5})?(/[!-~]*)?")
_AT_HOME: Final = ("localhost", "127.0.0.1")
_HCAPTCHA: Final = "https://hcaptcha.com https://*.hcaptcha.com"
"""It loads from names of its own that change; its documentation says to allow them all, for styles too."""


def is_script(address: str) -> bool:
    """Whether a page may be told to load it: of a plain host, and over HTTPS unless that is this machine."""
    found = _PLAIN.fullmatch(address)
    if found is None or len(address) > LENGTH_MAX:
        return False
    return found[1] == "https" or found[2] in _AT_HOME


def policy(script: str) -> str:
    """The content security policy of a page that loads this script, and shows its frames."""
    parts = urlsplit(script)
    host = parts.hostname or ""
    ours = host == "hcaptcha.com" or host.endswith(".hcaptcha.com")
    allowed = _HCAPTCHA if ours else f"{parts.scheme}://{parts.netloc}"
    styles = f" {_HCAPTCHA}" if ours else ""
    return (
        f"default-src 'none'; script-src 'self' {allowed}; frame-src {allowed}; "
        f"connect-src 'self' {allowed}; style-src 'self'{styles}; img-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
