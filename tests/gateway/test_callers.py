"""Who operates: keys, roles, scopes and the console's sessions, as a running gateway tells them apart."""

from __future__ import annotations

import contextlib
from ipaddress import ip_network

import psycopg
import pytest
from psycopg import sql
from starlette.requests import HTTPConnection

from gateway import callers
from gateway.problems import Forbidden, Unauthorized
from store import audit
from store.operators import keys, known
from store.operators.words import Role
from tests.gateway.operators_rig import EVENTS, KEY, SAID, SESSION, make, refusal, served
from tests.gateway.rig import EVENT, make_event, scenario, until


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def expire(conn, what="operator_key", column="expires_at"):
    conn.execute(f"UPDATE {what} SET {column} = clock_timestamp() - interval '1 second'")


@scenario
async def test_a_key_lets_in_who_has_it_and_says_who_that_is(engine_urls, conn):
    made = make(conn, role=Role.VIEWER)
    async with served(engine_urls) as call:
        me = await call("GET", SESSION, made.secret)
        assert (me.status, me.json()) == (
            200,
            {"name": "anna", "role": "viewer", "events": None, "expires_at": None},
        )
        assert (await call("GET", SESSION, KEY)).json()["name"] == "environment"
        assert (await call("GET", SESSION, KEY)).json()["role"] == "owner"
    assert keys.get(conn, made.key.id).last_used_at is not None


@scenario
async def test_keys_let_in_where_no_key_is_in_the_environment(engine_urls, conn):
    made = make(conn)
    async with served(engine_urls, operator_key="") as call:
        assert (await call("GET", EVENTS, made.secret)).status == 200
        assert refusal(await call("GET", EVENTS)) == (401, "operator_key")
        assert refusal(await call("GET", EVENTS, KEY)) == (401, "operator_key")


@scenario
async def test_a_wrong_secret_lets_nobody_in(engine_urls, conn):
    first, second = make(conn), make(conn, "bob")
    crossed = f"onsale_{first.key.id}_{second.secret.split('_', 2)[2]}"
    async with served(engine_urls) as call:
        nobody = "onsale_999999_" + "a" * 43
        for wrong in (crossed, f"{first.secret}x", first.secret[:-1], nobody, "onsale_1_"):
            answer = await call("GET", EVENTS, wrong)
            assert refusal(answer) == (401, "operator_key")
            assert wrong not in answer.body.decode()


@scenario
async def test_a_revoked_key_is_refused_everywhere_soon(engine_urls, conn):
    made = make(conn)
    async with served(engine_urls) as one, served(engine_urls) as other:
        for call in (one, other):
            assert (await call("GET", EVENTS, made.secret)).status == 200
        keys.revoke(conn, made.key.id, SAID, keep_an_owner=True)
        for call in (one, other):
            call.later(callers.BELIEVED_SECONDS)
            assert refusal(await call("GET", EVENTS, made.secret)) == (401, "operator_key_revoked")


@scenario
async def test_a_key_that_ran_out_is_refused(engine_urls, conn):
    made = make(conn, expires_in_days=1)
    expire(conn)
    async with served(engine_urls) as call:
        assert refusal(await call("GET", EVENTS, made.secret)) == (401, "operator_key_expired")


@scenario
async def test_a_key_is_looked_up_once_in_a_while(engine_urls, conn, monkeypatch):
    made, looks = make(conn), []
    read = known.read_key

    async def counted(connection, key_id):
        looks.append(key_id)
        return await read(connection, key_id)

    monkeypatch.setattr(known, "read_key", counted)
    async with served(engine_urls) as call:
        call.it.runtime.callers._clock = lambda: 100.0
        for _ in range(5):
            assert (await call("GET", EVENTS, made.secret)).status == 200
        assert looks == [made.key.id]
        call.it.runtime.callers._clock = lambda: 100.0 + callers.BELIEVED_SECONDS
        assert (await call("GET", EVENTS, made.secret)).status == 200
        assert len(looks) == 2


@scenario
async def test_the_secret_before_goes_on_for_its_grace_and_no_longer(engine_urls, conn):
    first = make(conn)
    second = keys.rotate(conn, first.key.id, SAID, grace_seconds=60)
    async with served(engine_urls) as call:
        for made in (first, second):
            assert (await call("GET", EVENTS, made.secret)).status == 200
        expire(conn, column="previous_until")
        call.later(callers.BELIEVED_SECONDS)
        assert refusal(await call("GET", EVENTS, first.secret)) == (401, "operator_key")
        assert (await call("GET", EVENTS, second.secret)).status == 200


@scenario
async def test_when_a_key_was_used_is_written_once_a_minute(engine_urls, conn):
    made = make(conn)
    async with served(engine_urls) as call:
        await call("GET", EVENTS, made.secret)
        noted = keys.get(conn, made.key.id).last_used_at
        call.later(callers.BELIEVED_SECONDS)
        await call("GET", EVENTS, made.secret)
        assert keys.get(conn, made.key.id).last_used_at == noted
        conn.execute("UPDATE operator_key SET last_used_at = last_used_at - interval '61 seconds'")
        call.later(callers.BELIEVED_SECONDS)
        await call("GET", EVENTS, made.secret)
        assert conn.execute("SELECT last_used_at > %s FROM operator_key", [noted]).fetchone() == (True,)


@scenario
async def test_a_role_is_asked_for_and_no_more_is_given(engine_urls, conn):
    make_event(engine_urls.database_url)
    viewer = make(conn, "vera", Role.VIEWER)
    async with served(engine_urls) as call:
        assert (await call("GET", f"{EVENTS}/{EVENT}", viewer.secret)).status == 200
        answer = await call("POST", f"{EVENTS}/{EVENT}/pause", viewer.secret)
        assert refusal(answer) == (403, "role_required")
        assert "vera" in answer.json()["detail"]
        assert (await call("GET", f"{EVENTS}/{EVENT}", KEY)).json()["event"]["state"] == "open"


@scenario
async def test_a_key_for_some_events_finds_no_others(engine_urls, conn):
    make_event(engine_urls.database_url)
    async with served(engine_urls) as call:
        other = {"slug": "secret-gig", "venue": "arena"}
        assert (await call("POST", EVENTS, KEY, body=other)).status == 201
        limited = make(conn, events=[EVENT])
        assert (await call("GET", SESSION, limited.secret)).json()["events"] == [EVENT]
        assert (await call("GET", f"{EVENTS}/{EVENT}", limited.secret)).status == 200
        hidden = await call("GET", f"{EVENTS}/secret-gig", limited.secret)
        nothing = await call("GET", f"{EVENTS}/nothing", limited.secret)
        assert refusal(hidden) == refusal(nothing) == (404, "unknown_event")
        assert hidden.json()["detail"].replace("secret-gig", "nothing") == nothing.json()["detail"]
        assert refusal(await call("POST", f"{EVENTS}/secret-gig/open", limited.secret)) == (
            404,
            "unknown_event",
        )
        assert refusal(await call("GET", "/v1/operator/tours", limited.secret)) == (403, "key_limited")
        assert refusal(await call("POST", EVENTS, limited.secret, body=other)) == (403, "key_limited")


@scenario
async def test_who_tries_keys_is_told_to_wait_and_nobody_else_is(engine_urls, conn, monkeypatch):
    monkeypatch.setattr(callers, "TRIES_PER_ADDRESS_MINUTE", 1)
    made = make(conn)
    proxies = (ip_network("127.0.0.1/32"),)
    async with served(engine_urls, trusted_proxies=proxies) as call:
        evil, office = {"X_Forwarded_For": "203.0.113.7"}, {"X_Forwarded_For": "203.0.113.8"}
        answers = [await call("GET", EVENTS, f"wrong {n}", **evil) for n in range(10)]
        assert [answer.status for answer in answers[:5]] == [401] * 5
        assert refusal(answers[-1]) == (429, "operator_tries")
        assert int(answers[-1].headers["retry-after"]) > 0
        for right in (KEY, made.secret):
            assert refusal(await call("GET", EVENTS, right, **evil)) == (429, "operator_tries")
            assert (await call("GET", EVENTS, right, **office)).status == 200
        counted = call.it.runtime.callers.refused
        assert (counted["operator_key"], counted["operator_tries"]) == (5, 7)


@scenario
async def test_who_is_at_work_at_an_address_is_not_locked_out_by_a_wrong_key_there(
    engine_urls, conn, monkeypatch
):
    monkeypatch.setattr(callers, "TRIES_PER_ADDRESS_MINUTE", 1)
    made = make(conn)
    async with served(engine_urls) as call:
        assert (await call("GET", EVENTS, made.secret)).status == 200
        for n in range(10):
            await call("GET", EVENTS, f"wrong {n}")
        call.later(callers.BELIEVED_SECONDS)
        assert (await call("GET", EVENTS, made.secret)).status == 200


@scenario
async def test_while_the_database_is_away_only_the_environments_key_is_known(redis_url):
    from store.settings import EngineUrls

    away = EngineUrls("postgresql://nobody@127.0.0.1:1/none", redis_url)
    async with served(away) as call:
        answer = await call("GET", SESSION, "onsale_1_" + "a" * 43)
        assert refusal(answer) == (503, "unavailable")
        assert (await call("GET", SESSION, KEY)).status == 200


@scenario
async def test_a_login_gives_a_cookie_no_script_can_read(engine_urls, conn):
    made = make(conn)
    async with served(engine_urls) as call:
        cookie, answer = await call.log_in(made.secret)
        assert answer.json()["name"] == "anna"
        said = answer.headers["set-cookie"]
        assert cookie.startswith("onsale_operator=")
        assert all(word in said for word in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age="))
        assert "Secure" not in said
        assert made.secret not in str(answer)
        assert (await call("GET", SESSION, cookie=cookie)).json() == answer.json()
        assert cookie.split("=")[1] not in str(conn.execute("SELECT * FROM operator_session").fetchall())


@scenario
async def test_by_https_the_cookie_is_secure_and_this_hosts_alone(engine_urls, conn):
    proxied = {"X_Forwarded_Proto": "https"}
    async with served(engine_urls, trusted_proxies=(ip_network("127.0.0.1/32"),)) as call:
        body, origin = {"key": KEY}, call.own.replace("http", "https")
        answer = await call("POST", SESSION, body=body, Origin=origin, **proxied)
        said = answer.headers["set-cookie"]
        assert said.startswith("__Host-onsale_operator=")
        assert "Secure" in said
        value = said.split(";")[0].split("=", 1)[1]
        assert (await call("GET", SESSION, cookie=said.split(";")[0], **proxied)).status == 200
        plain = await call("GET", SESSION, cookie=f"onsale_operator={value}", **proxied)
        assert plain.status == 401
    async with served(engine_urls) as call:  # nobody's word is taken who is no proxy of ours
        answer = await call("POST", SESSION, body=body, Origin=call.own, **proxied)
        assert answer.headers["set-cookie"].startswith("onsale_operator=")


@scenario
async def test_what_changes_something_by_cookie_must_come_from_our_own_page(engine_urls, conn):
    make_event(engine_urls.database_url)
    pause = f"{EVENTS}/{EVENT}/pause"
    async with served(engine_urls) as call:
        cookie, _ = await call.log_in(KEY)
        for foreign in (
            {},
            {"Origin": "https://evil.example"},
            {"Origin": "null"},
            {"Sec_Fetch_Site": "same-site"},
            {"Sec_Fetch_Site": "cross-site", "Origin": call.own},
        ):
            answer = await call("POST", pause, cookie=cookie, **foreign)
            assert refusal(answer) == (403, "cross_origin")
            answer = await call("POST", pause, cookie=cookie, Idempotency_Key="once", **foreign)
            assert refusal(answer) == (403, "cross_origin")
        assert (await call("POST", pause, cookie=cookie, Sec_Fetch_Site="same-origin")).status == 200
        assert (await call("POST", f"{EVENTS}/{EVENT}/resume", cookie=cookie, Origin=call.own)).status == 200
        assert (await call("POST", pause, KEY, Origin="https://evil.example")).status == 200
        assert (await call("GET", EVENTS, cookie=cookie)).status == 200


@scenario
async def test_no_other_page_logs_anybody_in(engine_urls, conn):
    async with served(engine_urls) as call:
        for foreign in ({"Origin": "https://evil.example"}, {"Sec_Fetch_Site": "cross-site"}):
            answer = await call("POST", SESSION, body={"key": KEY}, **foreign)
            assert refusal(answer) == (403, "cross_origin")
            assert "set-cookie" not in answer.headers
        assert (await call("POST", SESSION, body={"key": KEY})).status == 200


@scenario
async def test_a_wrong_login_is_refused_bounded_and_counted_not_written_down(engine_urls, conn, monkeypatch):
    monkeypatch.setattr(callers, "TRIES_PER_ADDRESS_MINUTE", 1)
    async with served(engine_urls) as call:
        answers = [await call("POST", SESSION, body={"key": f"wrong {n}"}) for n in range(6)]
        assert refusal(answers[0]) == (401, "operator_key")
        assert refusal(answers[5]) == (429, "operator_tries")
        assert refusal(await call("POST", SESSION, body={})) == (400, "invalid_body")
        assert refusal(await call("POST", SESSION, body={"key": "x" * 5_000})) == (413, "too_large")
    assert audit.read_all(conn) == []


@scenario
async def test_a_logout_ends_the_session_for_good(engine_urls, conn):
    async with served(engine_urls) as call:
        cookie, _ = await call.log_in(KEY)
        answer = await call("DELETE", SESSION, cookie=cookie, Origin=call.own)
        assert (answer.status, answer.body) == (204, b"")
        assert "Max-Age=0" in answer.headers["set-cookie"]
        call.later(callers.BELIEVED_SECONDS)
        assert refusal(await call("GET", SESSION, cookie=cookie)) == (401, "session_ended")
        assert refusal(await call("DELETE", SESSION, KEY)) == (409, "no_session")
    assert [(row.who, row.what["change"]) for row in audit.read_all(conn)] == [
        ("environment", "logout"),
        ("environment", "login"),
    ]


@scenario
async def test_a_session_ends_with_its_key(engine_urls, conn):
    revoked, rotated, run_out = make(conn, "a"), make(conn, "b"), make(conn, "c", expires_in_days=1)
    async with served(engine_urls) as call:
        cookies = [(await call.log_in(made.secret))[0] for made in (revoked, rotated, run_out)]
        keys.revoke(conn, revoked.key.id, SAID, keep_an_owner=True)
        keys.rotate(conn, rotated.key.id, SAID)
        conn.execute("UPDATE operator_key SET expires_at = now() WHERE id = %s", [run_out.key.id])
        call.later(callers.BELIEVED_SECONDS)
        for cookie in cookies:
            assert refusal(await call("GET", SESSION, cookie=cookie)) == (401, "session_ended")


@scenario
async def test_a_session_of_the_environments_key_ends_when_that_is_another(engine_urls, conn):
    async with served(engine_urls) as call:
        cookie, _ = await call.log_in(KEY)
    for other in ("another", ""):
        async with served(engine_urls, operator_key=other) as call:
            assert refusal(await call("GET", SESSION, cookie=cookie)) == (401, "session_ended")


@scenario
async def test_a_session_that_is_used_goes_on_but_not_beyond_its_bound(engine_urls, conn):
    async with served(engine_urls) as call:
        cookie, answer = await call.log_in(KEY)
        conn.execute("UPDATE operator_session SET ends_at = ends_at - interval '1 hour'")
        call.later(callers.BELIEVED_SECONDS)
        later_on = (await call("GET", SESSION, cookie=cookie)).json()
        assert later_on["expires_at"] >= answer.json()["expires_at"]
        conn.execute("UPDATE operator_session SET ends_at_latest = ends_at - interval '2 hours'")
        conn.execute("UPDATE operator_session SET ends_at = ends_at_latest - interval '1 hour'")
        call.later(callers.BELIEVED_SECONDS)
        assert (await call("GET", SESSION, cookie=cookie)).status == 200
        assert conn.execute("SELECT ends_at = ends_at_latest FROM operator_session").fetchone() == (True,)
        expire(conn, "operator_session", "ends_at")
        conn.execute("UPDATE operator_session SET ends_at_latest = ends_at")
        call.later(callers.BELIEVED_SECONDS)
        assert refusal(await call("GET", SESSION, cookie=cookie)) == (401, "session_ended")


@scenario
async def test_a_key_begins_only_so_many_sessions_and_the_oldest_goes(engine_urls, conn, monkeypatch):
    monkeypatch.setattr("store.operators.sessions.SESSIONS_PER_KEY_MAX", 2)
    async with served(engine_urls) as call:
        cookies = [(await call.log_in(KEY))[0] for _ in range(3)]
        statuses = [(await call("GET", SESSION, cookie=cookie)).status for cookie in cookies]
        assert statuses == [401, 200, 200]


@scenario
async def test_an_operators_answers_are_nothing_to_another(engine_urls, conn):
    make_event(engine_urls.database_url)
    anna, bob = make(conn), make(conn, "bob", Role.VIEWER)
    async with served(engine_urls) as call:
        pause = f"{EVENTS}/{EVENT}/pause"
        first = await call("POST", pause, anna.secret, Idempotency_Key="once")
        again = await call("POST", pause, anna.secret, Idempotency_Key="once")
        assert (first.status, again.status) == (200, 200)
        assert again.headers["idempotent-replayed"] == "true"
        assert refusal(await call("POST", pause, bob.secret, Idempotency_Key="once")) == (
            403,
            "role_required",
        )
        assert refusal(await call("POST", pause, KEY, Idempotency_Key="once")) == (409, "event_state")


@scenario
async def test_no_key_is_in_the_logs(engine_urls, conn, caplog):
    made = make(conn)
    async with served(engine_urls) as call:
        for key in (made.secret, f"{made.secret}x", KEY):
            await call("GET", EVENTS, key)
            await call("POST", SESSION, body={"key": key})
        await until(lambda: True)
    secret = made.secret.split("_", 2)[2]
    assert secret not in caplog.text
    assert KEY not in caplog.text


def socket(**headers):
    """A websocket as ASGI tells of it."""
    head = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "websocket", "scheme": "ws", "client": ("127.0.0.1", 1), "path": "/", "headers": head}
    return HTTPConnection(scope)


@scenario
async def test_a_websocket_by_cookie_must_come_from_our_own_page(engine_urls, conn):
    async with served(engine_urls) as call:
        cookie, _ = await call.log_in(KEY)
        them = call.it.runtime.callers
        host = call.own.removeprefix("http://")
        for foreign in ({}, {"origin": "https://evil.example"}, {"sec_fetch_site": "same-site"}):
            with pytest.raises(Forbidden) as refused:
                await them.identify(socket(cookie=cookie, host=host, **foreign))
            assert refused.value.code == "cross_origin"
        assert (await them.identify(socket(cookie=cookie, host=host, origin=call.own))).role is Role.OWNER
        with pytest.raises(Unauthorized):
            await them.identify(socket(host=host, origin=call.own))


@scenario
async def test_a_socket_that_stays_is_let_go_with_its_key_or_session(engine_urls, conn):
    first, second = make(conn, "a"), make(conn, "b")
    async with served(engine_urls) as call:
        them = call.it.runtime.callers
        cookie, _ = await call.log_in(second.secret)
        by_key = socket()
        await them.by_key(by_key, first.secret)
        by_cookie = socket(cookie=cookie, host=call.own.removeprefix("http://"), origin=call.own)
        await them.identify(by_cookie)
        of_environment = socket()
        await them.by_key(of_environment, KEY)
        for one, name in ((by_key, "a"), (by_cookie, "b"), (of_environment, "environment")):
            assert (await them.again(one)).name == name
        for made in (first, second):
            keys.revoke(conn, made.key.id, SAID, keep_an_owner=True)
        call.later(callers.BELIEVED_SECONDS)
        for one, code in ((by_key, "operator_key_revoked"), (by_cookie, "session_ended")):
            with pytest.raises(Unauthorized) as refused:
                await them.again(one)
            assert refused.value.code == code
        assert (await them.again(of_environment)).role is Role.OWNER


@scenario
async def test_who_is_refused_is_counted_by_why(engine_urls, conn):
    async with served(engine_urls) as call:
        await call("GET", EVENTS, "wrong")
        await call("POST", SESSION, body={"key": "wrong"})
        await call("GET", EVENTS, cookie="onsale_operator=wrong")
        told = (await call("GET", "/metrics")).body.decode()
        for code, count in (("operator_key", 2), ("session_ended", 1), ("operator_key_revoked", 0)):
            assert f'onsale_gateway_operators_refused_total{{code="{code}"}} {count}.0' in told


@contextlib.contextmanager
def nobody_connects(url):
    """The database takes no connections, and those there are end."""
    base, _, name = url.rpartition("/")
    named = sql.Identifier(name)
    with psycopg.connect(f"{base}/postgres", autocommit=True) as admin:
        admin.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(named))
        try:
            ended = (
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = %s AND application_name <> 'test rig'"
            )
            admin.execute(ended, [name])
            yield
        finally:
            admin.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(named))


@scenario
async def test_keys_count_again_as_soon_as_the_database_is_back(engine_urls):
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        made = make(conn)
    async with served(engine_urls) as call:
        assert (await call("GET", SESSION, made.secret)).status == 200
        with nobody_connects(engine_urls.database_url):
            call.later(callers.BELIEVED_SECONDS)
            for _ in range(2):
                assert refusal(await call("GET", SESSION, made.secret)) == (503, "unavailable")
        assert (await call("GET", SESSION, made.secret)).status == 200
