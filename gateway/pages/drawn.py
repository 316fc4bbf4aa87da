"""The draw's page, `/e/{event}/draw`: how it works, what was promised, what came of it, where a place stood.

Whole without JavaScript, so that nobody has to trust a script of ours: the form is a GET.
"""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from typing import Final
from uuid import UUID

from gateway.room.draws import ShownDraw
from store.room.published import Stands
from store.room.words import Lane, RoomPolicy

PLACE_LENGTH_MAX: Final = 100
_LINES: Final = {Lane.ORDINARY: "the line", Lane.PRIORITY: "the line of those with a code"}

_HOW: Final = """<section class="card" aria-labelledby="how">
<h2 id="how">How it works</h2>
<p>Before anybody could join, a random number was chosen, the seed, and its fingerprint was published here.
Whoever joined before the sale began got a place with a random name, and being early gave nothing.
When the sale began the places were put in the order of a fingerprint of the seed and their names together,
and the seed was told, so that anybody can put them in order again and compare.</p>
<p class="quiet-text">The order is that of HMAC-SHA256 of a place&#8217;s name under the seed, the lowest
first, each line by itself. The seed&#8217;s fingerprint is its SHA-256.</p>
</section>"""

_FIFO: Final = """<section class="card"><h2>Nothing is drawn here</h2>
<p>Buyers stand in line as they come, from the first.</p></section>"""

NO_ROOM: Final = """<section class="card"><h2>There is no draw</h2>
<p>This event has no waiting room, so nobody is drawn.</p></section>"""

NO_EVENT: Final = """<section class="card"><h2>There is no such event</h2>
<p><a href="/">All events</a></p></section>"""

AWAY: Final = """<section class="card"><h2>This cannot be shown just now</h2>
<p>Nothing is lost. Load this page again in a moment.</p></section>"""


def place_in(asked: str) -> UUID | None:
    """A place's id as somebody typed it; None: it is none."""
    if len(asked) > PLACE_LENGTH_MAX:
        return None
    try:
        return UUID(asked.strip())
    except ValueError:
        return None


def content(draw: ShownDraw, asked: str, stands: Stands | None) -> str:
    """The page's text. `asked`: what was typed into the form; `stands`: where that place does."""
    parts = [_numbers(draw)]
    if draw.policy is RoomPolicy.FIFO:
        parts = [_FIFO]
    elif draw.seed is not None:
        parts += [_where(draw, asked, stands), _list(draw)]
    if draw.policy is RoomPolicy.DRAW:
        parts.append(_HOW)
    parts.append(f'<p><a href="/e/{draw.event}">Back to the event</a></p>')
    return "\n".join(parts)


def _numbers(draw: ShownDraw) -> str:
    if draw.seed is not None and draw.drawn is not None and draw.drawn_at is not None:
        when = datetime.fromtimestamp(draw.drawn_at // 1_000, UTC)
        head = f"{draw.drawn:,} {'place was' if draw.drawn == 1 else 'places were'} drawn"
        told = f'<p>On <time datetime="{when.isoformat()}">{when:%d %B %Y at %H:%M:%S} UTC</time>.</p>'
    elif draw.lobby_ended_at is not None:
        head = "The places are being drawn"
        told = "<p>That takes moments. Load this page again for the seed.</p>"
    else:
        head = "Not drawn yet"
        told = (
            "<p>Places are drawn when the sale begins. Write the fingerprint down, and compare it then.</p>"
        )
    seed = f"<dt>The seed</dt><dd><code>{draw.seed}</code></dd>" if draw.seed else ""
    return (
        f'<section class="card" aria-labelledby="what"><h2 id="what">{head}</h2>{told}\n'
        f"<dl><dt>The seed&#8217;s fingerprint, published before anybody joined</dt>"
        f"<dd><code>{draw.seed_sha256}</code></dd>{seed}</dl></section>"
    )


def _where(draw: ShownDraw, asked: str, stands: Stands | None) -> str:
    return (
        '<section class="card" aria-labelledby="where"><h2 id="where">Where did I stand?</h2>\n'
        f"{_answer(asked, stands)}"
        f'<form action="/e/{draw.event}/draw" method="get"><label>Your place&#8217;s name'
        f'<input name="place" value="{escape(asked[:PLACE_LENGTH_MAX])}" maxlength="{PLACE_LENGTH_MAX}" '
        'autocomplete="off" spellcheck="false" '
        'placeholder="0f8fad5b-d9cb-469f-a165-70867728950e"></label>'
        '<button class="button main">Look it up</button></form></section>'
    )


def _answer(asked: str, stands: Stands | None) -> str:
    if not asked.strip():
        return ""
    if stands is not None:
        line = _LINES[stands.lane]
        return f'<p class="stood" role="status">It stood at <b>{stands.position:,}</b> in {line}.</p>\n'
    if place_in(asked) is None:
        story = (
            "That is no place&#8217;s name. It has 32 letters and digits in five groups; your page shows it."
        )
    else:
        story = (
            "That place was not in the draw. Whoever joined once the sale had begun stands behind all drawn;"
            " a place that was given up before is not drawn."
        )
    return f'<p class="stood not-there" role="status">{story}</p>\n'


def _list(draw: ShownDraw) -> str:
    return (
        '<section class="card" aria-labelledby="check"><h2 id="check">Check it yourself</h2>\n'
        "<p>The list has every place, by its name. Nobody&#8217;s name, mail or account is in it.</p>"
        f'<a class="button main" href="{draw.places}" download>Download the list</a>'
        '<p class="quiet-text">With onsale&#8217;s own program: '
        f"<code>./run draw verify draw-{draw.event}.csv</code>; "
        "how to with ten lines of your own is in its documentation (waiting-room.md).</p></section>"
    )
