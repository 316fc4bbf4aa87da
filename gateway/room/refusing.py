"""What somebody is told who asks for seats and is not inside. Pure."""

from __future__ import annotations

from gateway.problems import Forbidden
from gateway.room import document
from gateway.room.document import Status
from store.room.words import Place, PlaceState


def not_admitted(place: Place | None, told: Status) -> Forbidden:
    """What to do, by where they stand."""
    return Forbidden("not_admitted", _story(place, told))


def _story(place: Place | None, told: Status) -> str:
    if place is None:
        return "Seats are chosen by turns here. Join the waiting room first; then wait for your turn."
    match place.state:
        case PlaceState.WAITING:
            before = document.ahead(told, place)
            if before is None:
                return "It is not your turn yet: the draw comes first. Keep your place, you will be called."
            return f"It is not your turn yet: {before} are before you. Keep your place, you will be called."
        case PlaceState.ADMITTED | PlaceState.EXPIRED if place.begun_at is None:
            return "You were called and did not begin in time. Join again: you stand where you stood."
        case PlaceState.ADMITTED | PlaceState.EXPIRED:
            return "Your time to choose is over. What you hold is still yours; to choose again, join again."
    return "You gave your place up, or are done. To choose again, join again."
