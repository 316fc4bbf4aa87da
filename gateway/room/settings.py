"""What can be set of how a gateway protects its waiting rooms, from the environment, checked at the start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gateway.environment import SettingNotValid, address, origins, whole
from gateway.room.keys import RoomKeys, RoomKeysNotValid
from gateway.room.widget import is_script

TRIES_MAX = 1_000_000
PER_MINUTE_MAX = 1_000_000


@dataclass(frozen=True, slots=True)
class RoomSettings:
    """Of all waiting rooms of one gateway; bounds are each gateway's own."""

    key: str = field(default="", repr=False)
    """What admission tokens and challenges are signed with (`gateway.room.keys.RoomKeys`), the same for all
    gateways; empty: this one gives no tokens, and challenges are good at this gateway alone."""
    shops: tuple[str, ...] = ()
    """Origins of shops that admission tokens may be for; the first where nobody says which."""
    issuer: str = "onsale"
    """`iss` of admission tokens: where buyers reach the pages, if that is set."""
    joins_per_address_minute: int = 120
    """Joins a minute from one address, five minutes' worth at once; 0: no bound."""
    joins_per_buyer_minute: int = 20
    codes_per_address_minute: int = 20
    """Wrong codes a minute from one address; right ones are not counted."""
    codes_per_buyer_minute: int = 4
    proof_tries_max: int = 5_000
    """Most tries a proof of work costs, three quarters of them on average. 5,000 are about 0.3 s of a
    laptop."""
    human_check_url: str = ""
    """Asked whether a human gave an answer, by POST like Turnstile's and hCaptcha's siteverify; empty:
    off."""
    human_check_secret: str = field(default="", repr=False)
    human_check_fails_open: bool = False
    """Whether joins go on while that cannot be asked."""
    human_check_script: str = ""
    """The provider's script that shows the check on buyers' pages; empty: they show none."""
    human_check_site_key: str = ""
    """What the provider knows this site by; everybody may see it."""

    def __post_init__(self) -> None:
        if self.key:
            try:
                RoomKeys(self.key)
            except RoomKeysNotValid as error:
                raise SettingNotValid(f"ONSALE_ROOM_KEY: {error}") from None
        if self.human_check_url and not self.human_check_secret:
            raise SettingNotValid("ONSALE_HUMAN_CHECK_URL is set: set ONSALE_HUMAN_CHECK_SECRET as well.")
        self._check_widget()

    def _check_widget(self) -> None:
        script, key = self.human_check_script, self.human_check_site_key
        if bool(script) != bool(key) or (script and not self.human_check_url):
            raise SettingNotValid(
                "ONSALE_HUMAN_CHECK_SCRIPT and ONSALE_HUMAN_CHECK_SITE_KEY go together, and with "
                "ONSALE_HUMAN_CHECK_URL: set all three, or only the last."
            )
        if script and not is_script(script):
            raise SettingNotValid(
                f"ONSALE_HUMAN_CHECK_SCRIPT is {script!r}; write the address of the provider's script, like "
                "https://challenges.cloudflare.com/turnstile/v0/api.js?render=explicit"
            )

    @classmethod
    def from_env(cls, source: Mapping[str, str]) -> RoomSettings:
        """Raises `SettingNotValid`."""

        def per_minute(name: str, default: int) -> int:
            return whole(source, name, default, 0, PER_MINUTE_MAX)

        closed = source.get("ONSALE_HUMAN_CHECK_FAILS") or "closed"
        if closed not in ("open", "closed"):
            raise SettingNotValid(f"ONSALE_HUMAN_CHECK_FAILS is {closed!r}; it must be open or closed.")
        return cls(
            key=source.get("ONSALE_ROOM_KEY", ""),
            shops=origins(source, "ONSALE_SHOPS"),
            issuer=address(source, "ONSALE_PUBLIC_URL") or "onsale",
            joins_per_address_minute=per_minute("ONSALE_JOINS_PER_ADDRESS_MINUTE", 120),
            joins_per_buyer_minute=per_minute("ONSALE_JOINS_PER_BUYER_MINUTE", 20),
            codes_per_address_minute=per_minute("ONSALE_CODES_PER_ADDRESS_MINUTE", 20),
            codes_per_buyer_minute=per_minute("ONSALE_CODES_PER_BUYER_MINUTE", 4),
            proof_tries_max=whole(source, "ONSALE_PROOF_TRIES_MAX", 5_000, 1, TRIES_MAX),
            human_check_url=address(source, "ONSALE_HUMAN_CHECK_URL"),
            human_check_secret=source.get("ONSALE_HUMAN_CHECK_SECRET", ""),
            human_check_fails_open=closed == "open",
            human_check_script=source.get("ONSALE_HUMAN_CHECK_SCRIPT", "").strip(),
            human_check_site_key=source.get("ONSALE_HUMAN_CHECK_SITE_KEY", "").strip(),
        )
