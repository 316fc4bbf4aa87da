"""The calls about operators themselves, for the published description."""

from __future__ import annotations

from gateway.calls import Call
from gateway.operators.session import Me

CALLS: dict[tuple[str, str], Call] = {
    ("post", "/v1/operator/session"): Call(
        {200: ("Who is logged in; the session is in a cookie.", Me)}, (400, 401, 403, 413, 429, 503)
    ),
    ("get", "/v1/operator/session"): Call({200: ("Who calls.", Me)}, (503,), "operator"),
    ("delete", "/v1/operator/session"): Call({204: ("It is over.", None)}, (400, 503), "operator"),
}
