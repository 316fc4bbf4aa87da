"""Which providers there are, by what is set. Only their modules are loaded: Stripe's library alone takes a
third of a gateway's start.
"""

from __future__ import annotations

from gateway.payments.port import Provider
from gateway.settings import PaymentSettings


def providers_of(settings: PaymentSettings) -> dict[str, Provider]:
    """By name, all whose settings are given: payments may have been begun with another than is asked now."""
    found: dict[str, Provider] = {}
    if "simulated" in settings.known:
        from gateway.payments.simulated import Simulated

        found[Simulated.name] = Simulated(settings.simulated_url, settings.simulated_secret)
    if "stripe" in settings.known:
        from gateway.payments.stripe import Stripe

        stripe = Stripe(settings.stripe_key, settings.stripe_webhook_secret, url=settings.stripe_url)
        found[Stripe.name] = stripe
    return found
