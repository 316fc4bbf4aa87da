"""What everybody is told of an event: its name, its state, its terms. Pure; times in milliseconds."""

from __future__ import annotations

from store.lookups import EventRow


def public(row: EventRow) -> dict[str, object]:
    """An event as buyers see it; times in milliseconds."""
    return {
        "slug": row.slug,
        "name": row.name,
        "state": row.state,
        "hold_ttl_seconds": row.hold_ttl_seconds,
        "seats_per_buyer_max": row.seats_per_buyer_max,
        "fast_gate": row.fast_gate,
        "opens_at": _ms(row.opens_at),
        "lobby_opens_at": _ms(row.lobby_opens_at),
        "extensions_max": row.extensions_max,
        "extension_seconds": row.extension_seconds,
        "offer_ttl_seconds": row.offer_ttl_seconds,
        "prices": row.price_terms,
        "limits": row.limits,
        "tour": row.tour,
        "plan": row.plan_sha256,
        "payment": row.payment,
        "late_payment": row.late_payment,
        "venue": row.venue,
        "starts_at": _ms(row.starts_at),
        "called_off": called_off(row),
        "figures_on_page": row.figures_on_page,
    }


def called_off(row: EventRow) -> dict[str, object] | None:
    """When an event was called off, and where its orders go; None while it takes place."""
    if row.called_off is None:
        return None
    to = row.called_off.to
    where = to and {"slug": to.slug, "name": to.name, "venue": to.venue, "starts_at": _ms(to.starts_at)}
    return {"at": _ms(row.called_off.at), "to": where}


def _ms(moment: int | None) -> int | None:
    return None if moment is None else moment // 1000
