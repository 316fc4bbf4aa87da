"""The provider's pages: the checkout, and the switches. Plain HTML that needs no script."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Final
from urllib.parse import urlsplit

import msgspec

from onsale.simulated.book import Intent, Status
from onsale.simulated.switches import Switches
from store.venues.reading import amount_shown

POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"

_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1c1e21; --quiet: #5d636b; --page: #f5f5f3; --card: #fff;
  --line: #d9dbde; --act: #1f5fbf; --on-act: #fff; --bad: #a3261b; --good: #1d6b3a; }
@media (prefers-color-scheme: dark) { :root { --ink: #eceef0; --quiet: #a4abb3; --page: #15171a;
  --card: #1f2226; --line: #363b41; --act: #8ab4f8; --on-act: #10203a; --bad: #ff9d92; --good: #7fd6a0; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 16px;
  font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); }
main { width: 100%; max-width: 416px; padding: 24px; background: var(--card);
  border: 1px solid var(--line); border-radius: 12px; overflow-wrap: anywhere; }
h1 { font-size: 16px; font-weight: 400; margin: 0; color: var(--quiet); }
.amount { font-size: 40px; font-weight: 600; line-height: 1.2; margin: 8px 0;
  font-variant-numeric: tabular-nums; }
p { margin: 8px 0; } .quiet { color: var(--quiet); } .bad { color: var(--bad); } .good { color: var(--good); }
form { margin: 16px 0 0; } label { display: block; margin: 8px 0; }
input { font: inherit; color: inherit; background: transparent; border: 1px solid var(--line);
  border-radius: 8px; padding: 8px; width: 100%; } input[type=checkbox] { width: auto; }
button, a.act { display: block; width: 100%; min-height: 48px; padding: 12px; font: inherit; font-weight: 600;
  text-align: center; text-decoration: none; border-radius: 8px; cursor: pointer;
  border: 1px solid var(--act); background: var(--act); color: var(--on-act); }
button.second { background: transparent; color: var(--ink); border-color: var(--line); font-weight: 400; }
:focus-visible { outline: 3px solid var(--act); outline-offset: 2px; }
a { color: var(--act); } a.act { color: var(--on-act); }
dl { display: grid; grid-template-columns: 1fr auto; gap: 4px 16px; margin: 16px 0; } dd { margin: 0; }
"""


def _document(title: str, inside: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body><main>{inside}</main></body></html>"
    )


def checkout(intent: Intent) -> str:
    """What is paid and to whom, and two buttons; or how it ended, and the way back."""
    asked = intent.asked
    amount = escape(amount_shown(asked.amount_minor, asked.currency.upper()))
    seller = escape(urlsplit(asked.return_url).netloc)
    back = escape(asked.return_url, quote=True)
    head = f'<h1>To {seller}</h1><p class="amount" id="amount">{amount}</p><p>{escape(asked.description)}</p>'
    if intent.status is Status.SUCCEEDED:
        told = '<p class="good" id="state">It is paid. Thank you.</p>'
        return _document("Paid", f'{head}{told}<p><a class="act" id="back" href="{back}">Go back</a></p>')
    if intent.status is Status.CANCELED:
        told = '<p class="bad" id="state">This can no longer be paid. Nothing was taken from you.</p>'
        return _document("Ended", f'{head}{told}<p><a class="act" id="back" href="{back}">Go back</a></p>')
    declined = ""
    if intent.declines:
        told = "Your card was declined. Nothing was taken; try again."
        declined = f'<p class="bad" id="state" role="status">{told}</p>'
    pay = f"/pay/{intent.id}"
    forms = (
        f'<form method="post" action="{pay}"><button id="pay">Pay {amount}</button></form>'
        f'<form method="post" action="{pay}/decline">'
        '<button id="decline" class="second">Try a card that is declined</button></form>'
    )
    foot = '<p class="quiet">A rehearsal: no money moves.</p>'
    foot += f'<p><a id="back" href="{back}">Go back without paying</a></p>'
    return _document("Pay", f"{head}{declined}{forms}{foot}")


def nothing_here() -> str:
    """For an intent that is none."""
    return _document("Nothing here", '<p id="state">There is nothing to pay here. Go back to the shop.</p>')


def control(switches: Switches, counts: Mapping[str, int]) -> str:
    """The switches as they are, to be changed, and what was sent so far."""
    fields = []
    for name, value in msgspec.to_builtins(switches).items():
        said = name.replace("_", " ")
        if isinstance(value, bool):
            on = " checked" if value else ""
            fields.append(f'<label><input type="checkbox" name="{name}"{on}> {said}</label>')
        else:
            fields.append(f'<label>{said}<input name="{name}" inputmode="decimal" value="{value}"></label>')
    told = "".join(f"<dt>{name.replace('_', ' ')}</dt><dd>{count:,}</dd>" for name, count in counts.items())
    form = f'<form method="post" action="/control">{"".join(fields)}<button>Set</button></form>'
    return _document("Simulated payments", f"<h1>Simulated payments</h1><dl>{told}</dl>{form}")


def from_form(form: Mapping[str, object]) -> bytes:
    """What the form of `control` says, as the JSON that a program would send."""
    told: dict[str, object] = {}
    for name, value in msgspec.to_builtins(Switches()).items():
        if isinstance(value, bool):
            told[name] = name in form
        elif name in form:
            told[name] = _number(str(form[name]))
    return msgspec.json.encode(told)


def _number(text: str) -> float | int | str:
    try:
        return int(text) if text.strip().lstrip("-").isdigit() else float(text)
    except ValueError:
        return text
