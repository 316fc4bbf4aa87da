"""What can be set of a gateway, all from the environment, checked before anything starts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from gateway.environment import Network, SettingNotValid, address, networks, origins, whole
from gateway.room.settings import RoomSettings
from notifier.tickets import TicketKeys, TicketKeysNotValid
from store.settings import EngineUrls
from store.stream.sentinel import read_address

__all__ = ["Bounds", "PaymentSettings", "SettingNotValid", "Settings"]

TOKEN_SECRET_BYTES_MIN = 32
"""An HS256 key shorter than its digest can be guessed (RFC 7518, 3.2)."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where the gateway says "not now" (law 7)."""

    sockets_max: int = 20_000
    undecided_per_buyer_max: int = 16
    undecided_max: int = 200_000
    """Accepted and not decided, per event of this gateway."""
    waiting_max: int = 50_000
    """Not yet appended, per event of this gateway."""
    waiting_seconds_max: float = 5.0
    """How long a request that was never sent may wait for the stream."""
    lag_seconds_max: float = 30.0
    """Age of the oldest undecided request above which new ones are refused."""
    undecided_without_database_max: int = 20_000
    """Undecided requests above which new ones are refused while Postgres is away."""
    joins_waiting_max: int = 20_000
    """Buyers who join and were not answered yet, per event of this gateway."""
    streams_max: int = 2_000
    """Clients of `GET …/room/stream`, which cost more than sockets."""
    hello_seconds_max: float = 10.0
    events_max: int = 1_000
    database_connections_max: int = 8


PROVIDERS = ("simulated", "stripe")


@dataclass(frozen=True, slots=True)
class PaymentSettings:
    """With whom buyers pay. What the chores need too, so it stands by itself."""

    provider: str = ""
    """Who is asked for new payments; empty: nobody, only what costs nothing can be bought. The other one,
    where its settings are given, goes on telling of payments that were begun with it."""
    public_url: str = ""
    """Where buyers reach the pages, without a slash at the end."""
    simulated_url: str = ""
    simulated_secret: str = field(default="", repr=False)
    stripe_key: str = field(default="", repr=False)
    stripe_webhook_secret: str = field(default="", repr=False)
    stripe_url: str = ""
    """In place of Stripe's own address, for tests."""
    stripe_publishable_key: str = ""
    """Everybody may know it: with it onsale has a page of its own where buyers pay by Stripe."""

    def __post_init__(self) -> None:
        self._check_stripe_keys()
        if not self.provider:
            return
        if self.provider not in PROVIDERS:
            known = " or ".join(PROVIDERS)
            raise SettingNotValid(f"ONSALE_PAYMENT_PROVIDER is {self.provider!r}; it must be {known}.")
        needed = {
            "simulated": {
                "ONSALE_SIMULATED_URL": self.simulated_url,
                "ONSALE_SIMULATED_SECRET": self.simulated_secret,
            },
            "stripe": {
                "ONSALE_STRIPE_KEY": self.stripe_key,
                "ONSALE_STRIPE_WEBHOOK_SECRET": self.stripe_webhook_secret,
            },
        }[self.provider] | {"ONSALE_PUBLIC_URL": self.public_url}
        missing = " and ".join(name for name, value in needed.items() if not value)
        if missing:
            raise SettingNotValid(
                f"ONSALE_PAYMENT_PROVIDER is {self.provider}: set {missing} as well. See docs/payments.md."
            )

    @property
    def known(self) -> frozenset[str]:
        """Providers that can be asked, of which one is asked for new payments."""
        given = {
            "simulated": self.simulated_url and self.simulated_secret,
            "stripe": self.stripe_key and self.stripe_webhook_secret,
        }
        return frozenset(name for name, all_of_it in given.items() if all_of_it)

    @property
    def stripe_page(self) -> bool:
        """Whether buyers pay by Stripe on a page of ours."""
        return self.provider == "stripe" and bool(self.stripe_publishable_key)

    def _check_stripe_keys(self) -> None:
        """A key in the other's place would be told to every buyer, or refused by Stripe at each payment."""
        told = self.stripe_publishable_key
        if told and not told.startswith("pk_"):
            raise SettingNotValid(
                "ONSALE_STRIPE_PUBLISHABLE_KEY must be the publishable key, pk_…: pages tell it to all."
            )
        if self.stripe_key.startswith("pk_"):
            raise SettingNotValid("ONSALE_STRIPE_KEY must be a restricted or secret key: rk_… or sk_….")
        if told and self.stripe_key and ("_test_" in told) != ("_test_" in self.stripe_key):
            raise SettingNotValid(
                "ONSALE_STRIPE_KEY and ONSALE_STRIPE_PUBLISHABLE_KEY: one is for tests and the other is not."
            )

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> PaymentSettings:
        """Reads ONSALE_PAYMENT_PROVIDER and what belongs to it; raises `SettingNotValid`."""
        source = os.environ if environ is None else environ
        return cls(
            provider=source.get("ONSALE_PAYMENT_PROVIDER", ""),
            public_url=address(source, "ONSALE_PUBLIC_URL"),
            simulated_url=address(source, "ONSALE_SIMULATED_URL"),
            simulated_secret=source.get("ONSALE_SIMULATED_SECRET", ""),
            stripe_key=source.get("ONSALE_STRIPE_KEY", ""),
            stripe_webhook_secret=source.get("ONSALE_STRIPE_WEBHOOK_SECRET", ""),
            stripe_url=address(source, "ONSALE_STRIPE_URL"),
            stripe_publishable_key=source.get("ONSALE_STRIPE_PUBLISHABLE_KEY", ""),
        )


@dataclass(frozen=True, slots=True)
class Settings:
    """One gateway's settings; `from_env` reads and checks them."""

    engines: EngineUrls
    host: str = "127.0.0.1"
    port: int = 8000
    shared_port: int = 0
    """Listened at as well, together with other gateways of this machine; 0: at none."""
    token_secret: str = ""
    jwks_url: str = ""
    token_audience: str = ""
    origins: frozenset[str] = frozenset()
    trusted_proxies: tuple[Network, ...] = ()
    """Proxies of ours: who came to one of them is who it says in X-Forwarded-For (`gateway.addresses`)."""
    operator_key: str = field(default="", repr=False)
    ticket_key: str = field(default="", repr=False)
    """What tickets are signed with (`notifier.tickets.TicketKeys`); empty: this gateway makes none."""
    demo: bool = False
    stream_replicas: int = 0
    """Replicas that must have a request on disk before it is `accepted`."""
    database_bytes_max: int = 0
    """How large the database may grow, for alarms alone; 0: nobody said."""
    bounds: Bounds = Bounds()
    payments: PaymentSettings = PaymentSettings()
    room: RoomSettings = field(default_factory=RoomSettings)

    def __post_init__(self) -> None:
        if not self.token_secret and not self.jwks_url:
            raise SettingNotValid(
                "Nothing says whose tokens to trust: set ONSALE_TOKEN_SECRET (HS256, 32 bytes or more; "
                "make one with: openssl rand -hex 32) or ONSALE_JWKS_URL."
            )
        if self.token_secret and len(self.token_secret.encode()) < TOKEN_SECRET_BYTES_MIN:
            raise SettingNotValid(
                f"ONSALE_TOKEN_SECRET is shorter than {TOKEN_SECRET_BYTES_MIN} bytes and could be guessed. "
                "Make one with: openssl rand -hex 32"
            )
        if self.ticket_key:
            try:
                TicketKeys(self.ticket_key)
            except TicketKeysNotValid as error:
                raise SettingNotValid(f"ONSALE_TICKET_KEY: {error}") from None
        if self.stream_replicas == 0 and read_address(self.engines.redis_url) is not None:
            raise SettingNotValid(
                "REDIS_URL names Sentinels: set ONSALE_STREAM_REPLICAS to 1 or more, or a replica that is "
                "promoted may lack requests that were accepted. See docs/failover.md."
            )
        if self.demo and not self.token_secret:
            raise SettingNotValid("ONSALE_DEMO=1 signs tokens: set ONSALE_TOKEN_SECRET as well.")

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Reads DATABASE_URL, REDIS_URL and ONSALE_*; raises `MissingSetting` or `SettingNotValid`."""
        source = os.environ if environ is None else environ
        return cls(
            engines=EngineUrls.from_env(source),
            host=source.get("ONSALE_HOST") or "127.0.0.1",
            port=whole(source, "ONSALE_PORT", 8000, 0, 65_535),
            shared_port=whole(source, "ONSALE_SHARED_PORT", 0, 0, 65_535),
            token_secret=source.get("ONSALE_TOKEN_SECRET", ""),
            jwks_url=source.get("ONSALE_JWKS_URL", ""),
            token_audience=source.get("ONSALE_TOKEN_AUDIENCE", ""),
            origins=frozenset(origins(source, "ONSALE_ORIGINS")),
            trusted_proxies=networks(source, "ONSALE_TRUSTED_PROXIES"),
            operator_key=source.get("ONSALE_OPERATOR_KEY", ""),
            ticket_key=source.get("ONSALE_TICKET_KEY", ""),
            demo=source.get("ONSALE_DEMO", "") == "1",
            stream_replicas=whole(source, "ONSALE_STREAM_REPLICAS", 0, 0, 16),
            database_bytes_max=whole(source, "ONSALE_DATABASE_BYTES_MAX", 0, 0, 2**60),
            bounds=Bounds(
                sockets_max=whole(source, "ONSALE_SOCKETS_MAX", 20_000, 1, 1_000_000),
                lag_seconds_max=float(whole(source, "ONSALE_LAG_MAX_SECONDS", 30, 1, 3_600)),
                database_connections_max=whole(source, "ONSALE_DATABASE_CONNECTIONS_MAX", 8, 2, 100),
            ),
            payments=PaymentSettings.from_env(source),
            room=RoomSettings.from_env(source),
        )
