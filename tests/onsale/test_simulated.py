"""The simulated provider's own rules: one answer for each key, nothing forgotten, honest pages."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import aiohttp
import msgspec
import pytest
from aiohttp import web
from standardwebhooks import Webhook

from onsale.simulated import pages
from onsale.simulated.book import Asked, Book, Entry, Intent, Notice, RefundAsked, Refused, Status
from onsale.simulated.journal import Journal
from onsale.simulated.service import Service
from onsale.simulated.settings import SettingMissing, Settings
from onsale.simulated.switches import Dice, Switches, changed
from tests.gateway.rig import scenario, until

ASKED = Asked(2_000, "EUR", "http://shop.example/e/gig?paid=1", "The gig: 1 ticket", {"payment": "12"})
SECRET = "whsec_c2VjcmV0IG9mIHRoZSB0ZXN0cw=="


class Written:
    """A book on a list instead of a file."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.told: list[Notice] = []
        self.book = Book(self._write, self.told.append)

    def _write(self, entry: Entry) -> None:
        self.lines.append(msgspec.json.encode(entry))

    def again(self) -> Book:
        """Read from what was written, as after a restart."""
        book = Book(self._write, self.told.append)
        book.read_again([msgspec.json.decode(line, type=Entry) for line in list(self.lines)])
        return book


@pytest.fixture
def written():
    return Written()


def test_one_key_makes_one_intent_and_another_content_is_refused(written):
    first = written.book.make(ASKED, "k1")
    assert written.book.make(ASKED, "k1") is first
    assert written.book.make(ASKED, "k2") is not first
    with pytest.raises(Refused) as refused:
        written.book.make(msgspec.structs.replace(ASKED, amount_minor=1), "k1")
    assert (refused.value.status, refused.value.code) == (422, "key_reused")


def test_an_intent_is_paid_once_and_never_after_it_was_canceled(written):
    paid, canceled = written.book.make(ASKED, ""), written.book.make(ASKED, "")
    for _ in range(2):
        written.book.pay(paid.id)
        written.book.cancel(canceled.id)
    assert [notice.type for notice in written.told] == ["payment.succeeded", "payment.canceled"]
    with pytest.raises(Refused, match="intent_canceled"):
        written.book.pay(canceled.id)
    with pytest.raises(Refused, match="intent_succeeded"):
        written.book.cancel(paid.id)
    for over in (paid, canceled):
        with pytest.raises(Refused):
            written.book.decline(over.id)


def test_a_declined_card_leaves_the_intent_open(written):
    intent = written.book.make(ASKED, "")
    written.book.decline(intent.id)
    written.book.decline(intent.id)
    assert (intent.status, intent.declines) == (Status.OPEN, 2)
    assert written.book.pay(intent.id).status is Status.SUCCEEDED


def test_no_more_goes_back_than_came_in_and_each_key_once(written):
    intent = written.book.make(ASKED, "")
    with pytest.raises(Refused, match="intent_not_paid"):
        written.book.give_back(RefundAsked(intent.id, 500), "r0")
    written.book.pay(intent.id)
    first = written.book.give_back(RefundAsked(intent.id, 1_500), "r1")
    assert written.book.give_back(RefundAsked(intent.id, 1_500), "r1") is first
    with pytest.raises(Refused, match="refund_too_large"):
        written.book.give_back(RefundAsked(intent.id, 501), "r2")
    with pytest.raises(Refused, match="key_reused"):
        written.book.give_back(RefundAsked(intent.id, 500), "r1")
    written.book.give_back(RefundAsked(intent.id, 500), "r2")
    assert intent.refunded_minor == 2_000


def test_a_book_that_is_read_again_is_the_same_book(written):
    paid = written.book.make(ASKED, "k1")
    written.book.decline(paid.id)
    written.book.pay(paid.id)
    written.book.give_back(RefundAsked(paid.id, 500), "r1")
    gone = written.book.make(ASKED, "k2")
    written.book.cancel(gone.id)
    written.book.taken(written.told[0].id)
    written.book.set(Switches(duplicates=0.5, webhooks=False, seed=9))
    again = written.again()
    for name in ("intents", "refunds", "untold", "switches", "_made_by"):
        assert getattr(again, name) == getattr(written.book, name), name
    assert len(again.untold) == 3
    assert again.make(ASKED, "k1").id == paid.id


def test_a_line_that_was_cut_is_dropped_and_writing_goes_on(tmp_path):
    path = tmp_path / "simulated" / "journal.jsonl"
    journal = Journal(path)
    assert list(journal.entries()) == []
    journal.write(Entry(paid="pi_1"))
    journal.close()
    with path.open("ab") as file:
        file.write(b'{"paid":"pi')
    journal = Journal(path)
    assert [entry.paid for entry in journal.entries()] == ["pi_1"]
    journal.write(Entry(paid="pi_2"))
    assert [entry.paid for entry in journal.entries()] == ["pi_1", "pi_2"]
    journal.close()


def test_dice_of_one_seed_fall_alike():
    switches = Switches(duplicates=0.5, delay_ms=1_000, reorder=0.5, seed=5)
    one, other = Dice(switches), Dice(switches)
    assert [one.falls(0.5) for _ in range(50)] == [other.falls(0.5) for _ in range(50)]
    assert [one.pause() for _ in range(50)] == [other.pause() for _ in range(50)]
    assert not any(one.falls(0.0) for _ in range(50))
    assert all(one.falls(1.0) for _ in range(50))


def test_the_dice_say_which_notices_they_hold_back():
    dice = Dice(Switches(delay_ms=10, reorder=0.5, seed=5))
    pauses = [dice.pause() for _ in range(50)]
    assert {held for _, held in pauses} == {True, False}
    assert all((seconds >= 0.2) is held for seconds, held in pauses)


@pytest.mark.parametrize(
    "change", [b'{"duplicates":1.5}', b'{"duplicates":-1}', b'{"delay_ms":"long"}', b'{"nonsense":1}', b"["]
)
def test_switches_that_are_none_are_refused(change):
    with pytest.raises(msgspec.DecodeError):
        changed(Switches(), change)


def test_the_form_says_the_same_as_json():
    form = {"duplicates": "0.2", "delay_ms": "300", "webhooks": "on", "seed": "4"}
    assert changed(Switches(), pages.from_form(form)) == Switches(duplicates=0.2, delay_ms=300, seed=4)
    assert changed(Switches(), pages.from_form({})).webhooks is False


def test_what_is_missing_is_named():
    with pytest.raises(SettingMissing, match="ONSALE_SIMULATED_SECRET"):
        Settings.from_env({"ONSALE_SIMULATED_URL": "http://x", "ONSALE_SIMULATED_DIR": "y"})


def test_the_page_says_what_is_paid_and_to_whom_and_never_what_others_wrote_as_markup():
    asked = msgspec.structs.replace(ASKED, description="<script>alert(1)</script>")
    page = pages.checkout(Intent("pi_1", asked))
    assert "20.00 EUR" in page
    assert "To shop.example" in page
    assert "<script" not in page
    assert 'id="pay"' in page
    assert 'id="decline"' in page


class Seller:
    """Takes notices, or not."""

    def __init__(self) -> None:
        self.got: list[tuple[str, bool]] = []
        """(id, whether it is signed well)"""
        self.refuses = 0
        self.url = ""

    async def take(self, request: web.Request) -> web.Response:
        body = await request.read()
        signed_at = datetime.fromtimestamp(int(request.headers["webhook-timestamp"]), UTC)
        right = Webhook(SECRET).sign(request.headers["webhook-id"], signed_at, body.decode())
        genuine = request.headers["webhook-signature"] == right
        self.got.append((request.headers["webhook-id"], genuine))
        if self.refuses:
            self.refuses -= 1
            return web.Response(status=503)
        return web.Response(status=200 if genuine else 400)


@contextlib.asynccontextmanager
async def running(app: web.Application) -> AsyncIterator[str]:
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@contextlib.asynccontextmanager
async def provider(
    tmp_path, *addresses: str
) -> AsyncIterator[tuple[Service, Seller, str, aiohttp.ClientSession]]:
    seller = Seller()
    app = web.Application()
    app.router.add_post("/notices", seller.take)
    async with running(app) as shop, aiohttp.ClientSession() as session:
        settings = Settings(
            "http://pay.example", SECRET, tuple([shop + one for one in addresses or ("/notices",)]), tmp_path
        )
        service = Service(settings)
        async with running(service.application()) as url:
            yield service, seller, url, session


def entries_of(tmp_path) -> list[Entry]:
    journal = Journal(tmp_path / "journal.jsonl")
    try:
        return list(journal.entries())
    finally:
        journal.close()


async def all_taken(service: Service) -> None:
    await until(lambda: not service.book.untold)


@scenario
async def test_a_notice_is_tried_at_each_address_until_it_is_taken(tmp_path):
    async with provider(tmp_path, "/nowhere", "/notices") as (service, seller, _, _session):
        seller.refuses = 1
        service.book.pay(service.book.make(ASKED, "").id)
        await all_taken(service)
        assert len({number for number, _ in seller.got}) == 1
        assert [genuine for _, genuine in seller.got] == [True, True]
        assert (service.sending.attempts, service.sending.taken) == (4, 1)


@scenario
async def test_duplicates_and_wrong_signatures_are_what_they_say(tmp_path):
    async with provider(tmp_path) as (service, seller, url, session):
        await session.post(f"{url}/control", json={"duplicates": 1, "wrong_signatures": 0.5, "seed": 2})
        for _ in range(5):
            service.book.pay(service.book.make(ASKED, "").id)
        await all_taken(service)
        await until(lambda: len([genuine for _, genuine in seller.got if genuine]) >= 5)
        assert not all(genuine for _, genuine in seller.got)
        assert len(seller.got) >= 10


@scenario
async def test_the_journal_says_which_notices_were_taken_twice(tmp_path):
    async with provider(tmp_path) as (service, seller, url, session):
        await session.post(f"{url}/control", json={"duplicates": 1})
        service.book.pay(service.book.make(ASKED, "").id)
        await until(lambda: any(entry.taken_twice for entry in entries_of(tmp_path)))
        [notice] = [entry.notice.id for entry in entries_of(tmp_path) if entry.notice is not None]
        assert [entry.taken_twice for entry in entries_of(tmp_path) if entry.taken_twice] == [notice]
        assert [number for number, _ in seller.got] == [notice, notice]


@scenario
async def test_a_repeat_goes_to_the_next_address_and_to_the_first_again_if_nobody_is_there(tmp_path):
    async with provider(tmp_path, "/notices", "/nowhere") as (service, seller, url, session):
        await session.post(f"{url}/control", json={"duplicates": 1})
        service.book.pay(service.book.make(ASKED, "").id)
        await until(lambda: any(entry.taken_twice for entry in entries_of(tmp_path)))
        assert len(seller.got) == 2
        assert service.sending.attempts == 1


@scenario
async def test_the_journal_says_which_notices_were_held_back(tmp_path):
    async with provider(tmp_path) as (service, seller, url, session):
        await session.post(f"{url}/control", json={"reorder": 1})
        service.book.pay(service.book.make(ASKED, "").id)
        await session.post(f"{url}/control", json={"reorder": 0})
        service.book.pay(service.book.make(ASKED, "").id)
        await all_taken(service)
        first, second = [entry.notice.id for entry in entries_of(tmp_path) if entry.notice is not None]
        assert [entry.held_back for entry in entries_of(tmp_path) if entry.held_back] == [first]
        assert [number for number, _ in seller.got] == [second, first]


@scenario
async def test_a_reply_that_is_cut_was_done_and_an_error_was_not(tmp_path):
    async with provider(tmp_path) as (service, _, url, session):
        body = msgspec.to_builtins(ASKED)
        await session.post(f"{url}/control", json={"lost_replies": 1})
        with pytest.raises(aiohttp.ClientError):
            await session.post(f"{url}/v1/intents", json=body, headers={"Idempotency-Key": "k1"})
        assert len(service.book.intents) == 1
        await session.post(f"{url}/control", json={"lost_replies": 0, "errors": 1})
        async with session.post(f"{url}/v1/intents", json=body) as answer:
            assert answer.status == 500
        await session.post(f"{url}/control", json={"errors": 0})
        async with session.post(f"{url}/v1/intents", json=body, headers={"Idempotency-Key": "k1"}) as answer:
            assert (await answer.json())["id"] in service.book.intents
        assert len(service.book.intents) == 1


@scenario
async def test_a_browser_pays_and_goes_back_and_what_is_over_says_so(tmp_path):
    async with provider(tmp_path) as (service, _, url, session):
        intent = service.book.make(ASKED, "")
        where = f"{url}/pay/{intent.id}"
        async with _page(session, "POST", f"{where}/decline") as answer:
            assert (answer.status, answer.headers["Location"]) == (303, f"/pay/{intent.id}")
        async with _page(session, "GET", where) as answer:
            assert "declined" in await answer.text()
            assert answer.headers["Cache-Control"] == "no-store"
        async with _page(session, "POST", where) as answer:
            assert (answer.status, answer.headers["Location"]) == (303, ASKED.return_url)
        async with _page(session, "POST", f"{where}/decline") as answer:
            assert (answer.status, answer.headers["Location"]) == (303, f"/pay/{intent.id}")
        async with _page(session, "GET", where) as answer:
            assert "It is paid" in await answer.text()
        async with _page(session, "GET", f"{url}/pay/pi_none") as answer:
            assert (answer.status, "nothing to pay" in await answer.text()) == (404, True)
        async with session.get(f"{url}/v1/intents/pi_none") as answer:
            assert (answer.status, await answer.json()) == (404, {"error": "no_such_intent"})
        async with session.post(f"{url}/v1/intents", data=b"{}") as answer:
            assert answer.status == 400
        async with _page(session, "GET", f"{url}/control") as answer:
            assert "wrong signatures" in await answer.text()


def _page(session, method, url):
    """As a browser asks, which is told where to go next."""
    return session.request(method, url, headers={"Accept": "text/html"}, allow_redirects=False)
