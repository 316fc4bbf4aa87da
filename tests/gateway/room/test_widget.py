"""What a browser has to allow for a human check, and which scripts may show one."""

from __future__ import annotations

import pytest

from gateway.environment import SettingNotValid
from gateway.room.settings import RoomSettings
from gateway.room.widget import LENGTH_MAX, is_script, policy

TURNSTILE = "https://challenges.cloudflare.com/turnstile/v0/api.js?render=explicit"
GIVEN = {
    "ONSALE_HUMAN_CHECK_URL": "https://challenges.cloudflare.com/turnstile/v0/siteverify",
    "ONSALE_HUMAN_CHECK_SECRET": "s",
    "ONSALE_HUMAN_CHECK_SCRIPT": TURNSTILE,
    "ONSALE_HUMAN_CHECK_SITE_KEY": "0x4AAA",
}


def directives(script: str) -> dict[str, str]:
    return dict(part.strip().split(" ", 1) for part in policy(script).split(";"))


def test_exactly_the_scripts_origin_is_allowed():
    ours = "https://challenges.cloudflare.com"
    assert directives(TURNSTILE) == {
        "default-src": "'none'",
        "script-src": f"'self' {ours}",
        "frame-src": ours,
        "connect-src": f"'self' {ours}",
        "style-src": "'self'",
        "img-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    assert directives("http://127.0.0.1:8000/api.js")["script-src"] == "'self' http://127.0.0.1:8000"


@pytest.mark.parametrize("host", ["js.hcaptcha.com", "hcaptcha.com"])
def test_hcaptcha_is_allowed_as_it_asks_for(host):
    allowed = directives(f"https://{host}/1/api.js")
    both = "https://hcaptcha.com https://*.hcaptcha.com"
    assert [allowed[name] for name in ("script-src", "frame-src", "connect-src", "style-src")] == [
        f"'self' {both}", both, f"'self' {both}", f"'self' {both}",
    ]  # fmt: skip
    assert "hcaptcha.com" not in directives("https://evilhcaptcha.com/api.js")["style-src"]


@pytest.mark.parametrize(
    "address",
    [
        "",
        "/api.js",
        "//challenges.cloudflare.com/api.js",
        "javascript:alert(1)",
        "http://challenges.cloudflare.com/api.js",
        "http://127.0.0.1.evil.example.org/api.js",
        "https://a.example.org; script-src *",
        "https://a.example.org;/api.js",
        "https://a.example.org,b.example.org/api.js",
        "https://*/api.js",
        "https://a.example.org /api.js",
        "https://user@a.example.org/api.js",
        "https://a.example.org\n/api.js",
        "https://a.example.org/api.js\n",
        "https://a.example.org'/api.js",
        f"https://a.example.org/{'x' * LENGTH_MAX}",
    ],
)
def test_what_would_allow_more_or_come_over_the_open_network_is_no_script(address):
    assert not is_script(address)
    with pytest.raises(SettingNotValid):
        RoomSettings(
            human_check_url="https://a", human_check_secret="s", human_check_script=address or " ",
            human_check_site_key="k",
        )  # fmt: skip


def test_script_and_key_are_set_together_and_with_who_is_asked():
    assert RoomSettings.from_env(GIVEN).human_check_script == TURNSTILE
    for missing in ("ONSALE_HUMAN_CHECK_URL", "ONSALE_HUMAN_CHECK_SCRIPT", "ONSALE_HUMAN_CHECK_SITE_KEY"):
        with pytest.raises(SettingNotValid, match="ONSALE_HUMAN_CHECK"):
            RoomSettings.from_env({name: value for name, value in GIVEN.items() if name != missing})
    only = {name: GIVEN[name] for name in ("ONSALE_HUMAN_CHECK_URL", "ONSALE_HUMAN_CHECK_SECRET")}
    assert not RoomSettings.from_env(only).human_check_script, "who shows the check elsewhere sets no more"
