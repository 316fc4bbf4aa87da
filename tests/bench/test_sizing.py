"""What an on-sale takes, from what one gateway and one allocator did: in bounds, never less for more."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bench.evidence import Finding
from bench.rehearsal.sizing import GATEWAY_BYTES_MAX, SHARE_USED, SOCKETS_MAX, sentences, sizing
from bench.rehearsal.words import GateRun, Measured

RUN = GateRun(
    gate=True, requests=4_000, decided=3_000, held=400, not_queued=1_000, unanswered=0, seconds=1.0,
    answers_per_second=4_000.0, decisions_per_second=3_000.0, latency_ms_p50=40.0, latency_ms_p99=90.0,
    seats_held=800, sold_out_seconds=0.8, step_seconds=0.1, curve=[300] * 10,
    gateway_cpu_seconds_per_answer=5e-5, allocator_cpu_seconds_per_decision=2e-5,
)  # fmt: skip

rates = st.floats(1.0, 200_000.0)
buyers_range = st.integers(1, 20_000_000)


@st.composite
def measurements(draw):
    on = replace(RUN, answers_per_second=draw(rates), decisions_per_second=draw(rates))
    off = replace(RUN, gate=False, answers_per_second=draw(rates), decisions_per_second=draw(rates))
    return Measured(
        event="gala",
        buyers=1_000,
        house=draw(st.integers(1, 200_000)),
        requests_each=draw(st.integers(1, 20)),
        party=draw(st.integers(1, 8)),
        joins_per_second=draw(rates),
        bytes_per_socket=draw(st.integers(1, 10**7)),
        cores=draw(st.integers(1, 64)),
        runs=[on, off],
    )


@given(measurements(), buyers_range)
def test_nothing_is_planned_above_the_share_of_what_was_measured(measured, buyers):
    sized = sizing(measured, buyers, gateways_max=10**9)
    off = measured.runs[1]
    asked_per_second = sized.pace / 60 * measured.requests_each
    if sized.pace > 1:
        assert asked_per_second <= max(1.0, off.decisions_per_second * SHARE_USED) * 1.001
    assert 1 <= sized.pace <= max(1, buyers)
    assert sized.gateways * SOCKETS_MAX >= buyers
    assert sized.gateways == 1 or buyers * measured.bytes_per_socket / sized.gateways <= max(
        GATEWAY_BYTES_MAX, measured.bytes_per_socket * SOCKETS_MAX
    )
    assert sized.inside <= buyers
    assert sized.hosts >= 2


@given(measurements(), buyers_range, buyers_range)
def test_more_buyers_never_take_less(measured, one, other):
    fewer, more = sizing(measured, min(one, other)), sizing(measured, max(one, other))
    assert fewer.gateways <= more.gateways
    assert fewer.minutes_to_admit <= more.minutes_to_admit * (1 + 1e-9) + 1
    assert fewer.inside <= more.inside


@given(measurements(), buyers_range, st.floats(0.01, 1.0))
def test_a_slower_machine_never_needs_less(measured, buyers, slower):
    slow = replace(
        measured,
        joins_per_second=measured.joins_per_second * slower,
        runs=[replace(run, decisions_per_second=run.decisions_per_second * slower) for run in measured.runs],
    )
    fast, slow_sized = sizing(measured, buyers), sizing(slow, buyers)
    assert slow_sized.gateways >= fast.gateways
    assert slow_sized.decisions_per_second_max <= fast.decisions_per_second_max


def test_it_is_said_in_plain_sentences():
    measured = Measured("gala", 1_000, 1_000, 4, 2, 2_000.0, 25_000, 4, [RUN, replace(RUN, gate=False)])
    said = sentences(measured, sizing(measured, 100_000))
    assert said[0] == "1,000 buyers stormed a copy of gala, and every law held."
    assert "100,000 buyers need 5 gateways and 2 allocator slots on 2 hosts; admit 22,500 a minute." in said
    broken = replace(measured, runs=[replace(RUN, findings=[Finding("lost", "ann")]), measured.runs[1]])
    assert sentences(broken, sizing(broken, 10))[0].startswith("Do not open it like this: 1 findings")
