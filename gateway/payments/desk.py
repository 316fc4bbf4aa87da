"""Everything of a gateway that has to do with payments, and its tasks."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence

import redis.asyncio

from gateway.ending import end
from gateway.loading import Events
from gateway.metrics import Metrics
from gateway.payments.following import Following
from gateway.payments.notices import Notices
from gateway.payments.port import Provider
from gateway.payments.providers import providers_of
from gateway.payments.settling import Settling
from gateway.payments.telling import Telling
from gateway.settings import Settings
from store.lookups import Pool
from store.payments.settle import Settled
from store.payments.states import PaymentState

log = logging.getLogger("onsale.gateway")


class Desk:
    """`Runtime.payments`. `start` within a running loop, `stop` before pools are closed."""

    def __init__(
        self,
        settings: Settings,
        pool: Pool,
        client: redis.asyncio.Redis,
        events: Events,
        gateway_id: str,
        metrics: Metrics,
    ) -> None:
        self.providers = providers_of(settings.payments)
        self.provider: Provider | None = self.providers.get(settings.payments.provider)
        """Who is asked for new payments."""
        self.public_url = settings.payments.public_url
        self._stripe_page = settings.payments.stripe_page
        self.begun = self.asking = 0
        """Intents that were made, and calls under way to make one."""
        self.became: Counter[PaymentState] = Counter()
        """What payments became by notices that were settled here."""
        self.telling = Telling(pool, client, events, gateway_id)
        replicas = settings.stream_replicas
        self.following = Following(pool, client, events, self.telling, gateway_id, stream_replicas=replicas)
        self.settling = Settling(pool, self._committed, metrics.settled)
        self.notices = Notices(self.providers, self.settling)
        self._tasks: list[asyncio.Task[None]] = []
        self._unpaid: set[str] = set()

    def page_of(self, provider: Provider, event: str, hold: int) -> dict[str, str]:
        """{url} of our own page to pay on, for a provider that has none."""
        if provider.name != "stripe" or not self._stripe_page:
            return {}
        return {"url": f"{self.public_url}/e/{event}/pay/{hold}"}

    def nobody_is_paid(self, event: str) -> None:
        """A buyer of this event could not pay, for want of a provider: said once for each."""
        if event not in self._unpaid:
            self._unpaid.add(event)
            log.error("ALERT: %s asks for money and no payment provider is configured here", event)

    def _committed(self, settled: Sequence[Settled]) -> None:
        self.became.update(one.state for one in settled)
        self.telling.changed([one.payment for one in settled])
        for one in settled:
            if one.state is PaymentState.LATE:
                self.following.follow(one)

    def start(self) -> None:
        """Begin to settle, tell and follow."""
        work = (self.settling.run, self.telling.run, self.telling.run_outward, self.following.run)
        self._tasks = [asyncio.get_running_loop().create_task(one()) for one in work]

    async def stop(self) -> None:
        await end(self._tasks)
        await asyncio.gather(*(one.close() for one in self.providers.values()))
