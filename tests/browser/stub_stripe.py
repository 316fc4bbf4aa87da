"""In place of js.stripe.com: a script with the part of Stripe.js that the page uses, and a form of one field.

What is typed into it says what becomes of the try. Nothing outside this machine is asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import BrowserContext, Page, Route

from gateway.settings import PaymentSettings

GOOD = "4242"
DECLINED = "4000 0002"
NO_MONEY = "4000 9995"
CUT = "cut"
"""The connection to Stripe is cut: whether it was paid is not known."""
OVER = "over"
"""Stripe knows that there is nothing to pay any more."""
NUMBER = "Card number"

SCRIPT = """
window.asked = [];
window.Stripe = (key, options) => {
  window.asked.push({ key, options });
  const field = document.createElement("input");
  const label = document.createElement("label");
  label.append("Card number ", field);
  label.className = "stub";
  return {
    elements(given) {
      window.asked.push(given);
      return {
        create(kind, more) {
          window.asked.push({ kind, ...more });
          const hears = {};
          return {
            on: (what, act) => { hears[what] = act; },
            mount(place) {
              if (given.clientSecret.startsWith("pi_broken")) return setTimeout(hears.loaderror);
              place.append(label);
              setTimeout(() => hears.ready());
            },
          };
        },
        update: (changed) => { window.asked.push({ updated: changed }); },
      };
    },
    async confirmPayment({ confirmParams }) {
      window.asked.push({ confirmed: field.value, ...confirmParams });
      await new Promise((done) => { if (field.value === "wait") window.go_on = done; else done(); });
      const failed = (type, code, message) => ({ error: { type, code, message } });
      switch (field.value) {
        case "": return failed("validation_error", "incomplete_number", "Your card number is incomplete.");
        case "4000 0002": return failed("card_error", "card_declined", "Your card was declined.");
        case "4000 9995": return failed("card_error", "card_declined", "Your card has insufficient funds.");
        case "cut": return failed("api_connection_error", undefined, "An error occurred.");
        case "over": return failed("invalid_request_error", "payment_intent_unexpected_state", "It is over.");
      }
      const back = new URL(confirmParams.return_url);
      back.searchParams.set("payment_intent", "pi_12");
      back.searchParams.set("payment_intent_client_secret", "pi_12_secret_of_it");
      back.searchParams.set("redirect_status", "succeeded");
      location.assign(back);
      await new Promise(() => {});
    },
  };
};
"""


def settings(url: str) -> PaymentSettings:
    """Of a gateway at `url` whose buyers pay by Stripe."""
    return PaymentSettings(
        provider="stripe",
        public_url=url,
        stripe_key="rk_test_1",
        stripe_webhook_secret="whsec_1",
        stripe_publishable_key="pk_test_of_the_tests",
    )


def stand_in(where: Page | BrowserContext, answers: Callable[[Route], None] | None = None) -> list[str]:
    """Answers for Stripe from now on, and lets nothing out; the addresses that were asked."""
    asked: list[str] = []

    def answer(route: Route) -> None:
        asked.append(route.request.url)
        if answers is not None:
            answers(route)
        else:
            route.fulfill(body=SCRIPT, content_type="text/javascript")

    where.route(re.compile("^https://"), answer)
    return asked
