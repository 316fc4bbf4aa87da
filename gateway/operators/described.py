"""The calls about operators themselves, for the published description."""

from __future__ import annotations

from gateway.calls import Call
from gateway.operators.audits import AllAuditRows, AuditRows
from gateway.operators.keys import Keys
from gateway.operators.session import Me
from store.operators.keys import Key, KeyWithSecret

CALLS: dict[tuple[str, str], Call] = {
    ("post", "/v1/operator/session"): Call(
        {200: ("Who is logged in; the session is in a cookie.", Me)}, (400, 401, 403, 413, 429, 503)
    ),
    ("get", "/v1/operator/session"): Call({200: ("Who calls.", Me)}, (503,), "operator"),
    ("delete", "/v1/operator/session"): Call({204: ("It is over.", None)}, (409, 503), "operator"),
    ("get", "/v1/operator/keys"): Call({200: ("Newest first.", Keys)}, (400, 503), "operator"),
    ("post", "/v1/operator/keys"): Call(
        {201: ("The key and its text, which is not told again.", KeyWithSecret)},
        (400, 404, 409, 413, 503),
        "operator",
        located=True,
    ),
    ("get", "/v1/operator/keys/{key}"): Call({200: ("The key.", Key)}, (404, 503), "operator"),
    ("post", "/v1/operator/keys/{key}/rotate"): Call(
        {200: ("With its new text.", KeyWithSecret)}, (400, 404, 409, 413, 503), "operator"
    ),
    ("post", "/v1/operator/keys/{key}/revoke"): Call(
        {200: ("The key as it is now.", Key)}, (400, 404, 409, 413, 503), "operator"
    ),
    ("get", "/v1/operator/audit"): Call({200: ("Newest first.", AllAuditRows)}, (400, 404, 503), "operator"),
    ("get", "/v1/operator/events/{event}/audit"): Call(
        {200: ("Newest first.", AuditRows)}, (400, 404, 503), "operator"
    ),
}
