"""For every alert rule series under which it fires, and such under which it keeps quiet.

A series is written as Prometheus shows it, with its values `STEP_SECONDS` apart, the last one now.
"""

from __future__ import annotations

Case = dict[str, list[float]]

OWNED = {'onsale_event_owned{event="gala"}': [1.0]}
NOT_OWNED = {'onsale_event_owned{event="gala"}': [0.0]}
OPEN = {'onsale_event_state{event="gala",state="open"}': [1.0]}
HOSTS = {'onsale_fleet_hosts{state="alive"}': [2.0], 'onsale_fleet_hosts{state="lost"}': [0.0]}
NO_HOSTS = {'onsale_fleet_hosts{state="alive"}': [0.0], 'onsale_fleet_hosts{state="lost"}': [0.0]}
REFUSED = 'onsale_gateway_room_joins_refused_total{event="gala",code="too_many_joins",instance="a"}'
JOINED = 'onsale_gateway_room_joined_total{event="gala",instance="a"}'
WANTED = {'onsale_event_workers_wanted{event="gala"}': [2.0]}
STILL = [5.0] * 50
"""A counter that does not grow."""


def one(series: str, fires: float, quiet: float, beside: Case | None = None) -> tuple[Case, Case]:
    """Two cases that differ in one number."""
    beside = beside or {}
    return beside | {series: [fires]}, beside | {series: [quiet]}


def growing(by: float) -> list[float]:
    """A counter over twelve minutes."""
    return [by * step for step in range(50)]


CASES: dict[str, tuple[Case, Case]] = {
    "OnsaleNobodyDecides": (NOT_OWNED, OWNED),
    "OnsaleLeaseStale": (
        OWNED | {'onsale_event_lease_age_seconds{event="gala"}': [8.0]},
        NOT_OWNED | {'onsale_event_lease_age_seconds{event="gala"}': [8.0]},
    ),
    "OnsaleTakeoversRepeat": (
        {'onsale_event_owner_epoch{event="gala"}': growing(1)},
        {'onsale_event_owner_epoch{event="gala"}': [*STILL[1:], 6.0]},
    ),
    "OnsaleLag": one('onsale_gateway_lag_seconds{event="gala",instance="a"}', 9, 0.2),
    "OnsaleSlowDecisions": one('onsale_event_latency_seconds{event="gala",quantile="0.99"}', 4, 0.1, OPEN),
    "OnsaleLoadUnknown": one('onsale_event_load_age_seconds{event="gala"}', 60, 1, OWNED),
    "OnsaleDoesNotAddUp": one('onsale_event_balance_findings{event="gala"}', 1, 0),
    "OnsaleBalanceUnknown": one('onsale_event_balance_age_seconds{event="gala"}', 600, 31, OWNED),
    "OnsaleGatewayDown": one('up{job="onsale-gateway",instance="a"}', 0, 1),
    "OnsaleNumbersMissing": ({}, {'up{job="onsale"}': [1.0]}),
    "OnsaleNumbersOld": one("onsale_beside_age_seconds", 120, 4),
    "OnsaleNotFollowing": one('onsale_gateway_following{event="gala",instance="a"}', 0, 1),
    "OnsaleRefusesAtBound": (
        {'onsale_gateway_refused_total{event="gala",instance="a"}': growing(3)},
        {'onsale_gateway_refused_total{event="gala",instance="a"}': STILL},
    ),
    "OnsaleSocketsNearBound": one(
        'onsale_gateway_sockets{instance="a"}',
        19_000,
        10_000,
        {'onsale_gateway_sockets_max{instance="a"}': [20_000.0]},
    ),
    "OnsaleSlowClients": (
        {'onsale_gateway_slow_closed_total{instance="a"}': growing(100)},
        {'onsale_gateway_slow_closed_total{instance="a"}': growing(1)},
    ),
    "OnsaleDatabaseAway": one('onsale_gateway_engine_up{engine="database",instance="a"}', 0, 1),
    "OnsaleStreamAway": one('onsale_gateway_engine_up{engine="stream",instance="a"}', 0, 1),
    "OnsaleStreamRefusesWrites": one("onsale_stream_writes", 0, 1),
    "OnsaleDisk": (
        {"onsale_database_bytes": [9e9], "onsale_database_max_bytes": [1e10]},
        {"onsale_database_bytes": [9e9], "onsale_database_max_bytes": [0.0]},
    ),
    "OnsaleStreamMemory": (
        {"onsale_stream_memory_bytes": [9e9], "onsale_stream_memory_max_bytes": [1e10]},
        {"onsale_stream_memory_bytes": [9e9], "onsale_stream_memory_max_bytes": [0.0]},
    ),
    "OnsaleConnections": one(
        "onsale_database_connections", 190, 40, {"onsale_database_connections_max": [197.0]}
    ),
    "OnsaleOldTransaction": one("onsale_database_oldest_transaction_seconds", 900, 2),
    "OnsaleHostLost": one('onsale_fleet_hosts{state="lost"}', 1, 0),
    "OnsaleOnlyDraining": one('onsale_fleet_host_last_resort{host="a"}', 1, 0),
    "OnsaleFleetShort": (
        HOSTS | WANTED | {'onsale_event_workers{event="gala"}': [1.0]},
        NO_HOSTS | WANTED | {'onsale_event_workers{event="gala"}': [0.0]},
    ),
    "OnsaleFleetFull": one(
        'onsale_fleet_host_slots_used{host="a"}', 4, 2, {'onsale_fleet_host_slots{host="a"}': [4.0]}
    ),
    "OnsaleWorkersLost": one('onsale_fleet_workers{state="lost"}', 2, 0),
    "OnsaleHostMemory": one(
        'onsale_fleet_host_memory_bytes{host="a"}',
        95,
        40,
        {'onsale_fleet_host_memory_max_bytes{host="a"}': [100.0]},
    ),
    "OnsaleRoomStandsStill": one('onsale_room_still_seconds{event="gala"}', 300, 3),
    "OnsaleRoomSlowed": one(
        'onsale_room_slowed{event="gala",reason="lag"}',
        1,
        0,
        {'onsale_room_slowed{event="gala",reason="paused"}': [1.0]},
    ),
    "OnsaleJoinsRefused": (
        {REFUSED: growing(9), JOINED: growing(2)},
        {REFUSED: growing(1), JOINED: growing(2)},
    ),
    "OnsaleChoreLate": one('onsale_chore_late{chore="sweep"}', 1, 0),
    "OnsaleChoreFails": one('onsale_chore_failures{chore="sweep"}', 3, 2),
    "OnsalePaymentsLate": one('onsale_payments_oldest_seconds{state="late"}', 90, 2),
    "OnsalePaymentsNotEnded": one('onsale_payments_oldest_seconds{state="canceled"}', 900, 20),
    "OnsaleNoPaymentSucceeds": (
        {
            'onsale_payments{state="created"}': [30.0],
            'onsale_gateway_payments_became_total{state="succeeded",instance="a"}': STILL,
        },
        {
            'onsale_payments{state="created"}': [30.0],
            'onsale_gateway_payments_became_total{state="succeeded",instance="a"}': growing(1),
        },
    ),
    "OnsaleRefundsStuck": one("onsale_stuck_refunds", 1, 0),
    "OnsaleRefundsLate": one("onsale_refunds_due_oldest_seconds", 900, 10),
    "OnsaleMailsLate": one("onsale_mails_due_oldest_seconds", 900, 10),
    "OnsaleOutboxOld": one('onsale_outbox_oldest_seconds{reader="webhooks"}', 90, 3),
    "OnsaleWebhooksFail": one(
        'onsale_webhooks_tried{outcome="failed"}', 9, 1, {'onsale_webhooks_tried{outcome="delivered"}': [5.0]}
    ),
    "OnsaleDeadLetters": one('onsale_webhooks_aside{state="dead"}', 1, 0),
    "OnsaleSubscriberDisabled": one('onsale_subscribers{state="disabled"}', 1, 0),
}
