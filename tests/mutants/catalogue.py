"""Every mutant there is, and those somebody asks for."""

from __future__ import annotations

from tests.mutants.guards import (
    allocator_decide,
    allocator_lease,
    allocator_limits,
    allocator_loop,
    allocator_replay,
    allocator_sql,
    allocator_truth,
    allocator_waiting,
    beside,
    checker,
    checker_told,
    chores,
    chores_ended,
    chores_run,
    confirming,
    figures_kept,
    figures_money,
    gateway_bounds,
    gateway_gate,
    gateway_holders,
    gateway_http,
    gateway_intake,
    gateway_none_left,
    gateway_payments,
    idempotency,
    mails,
    mails_off,
    money_edges,
    moved_plans,
    pages_paying,
    payment_settings,
    payments_model,
    relay_fairness,
    simulated,
    store_blocks,
    store_events,
    store_hold_changes,
    store_holds,
    store_lost_time,
    store_payments,
    store_sales,
    store_stream,
    store_tables,
    store_waiting,
    storm,
    stripe_page,
    tickets,
    webhooks,
)
from tests.mutants.mutant import Mutant


def all_mutants() -> list[Mutant]:
    """In the order of a request's way, and then who looks at what came of it."""
    return [
        *gateway_gate.MUTANTS,
        *gateway_none_left.MUTANTS,
        *gateway_intake.MUTANTS,
        *gateway_bounds.MUTANTS,
        *gateway_http.MUTANTS,
        *gateway_holders.MUTANTS,
        *idempotency.MUTANTS,
        *money_edges.MUTANTS,
        *gateway_payments.MUTANTS,
        *payment_settings.MUTANTS,
        *pages_paying.MUTANTS,
        *stripe_page.MUTANTS,
        *store_stream.MUTANTS,
        *allocator_loop.MUTANTS,
        *allocator_decide.MUTANTS,
        *allocator_limits.MUTANTS,
        *allocator_truth.MUTANTS,
        *allocator_sql.MUTANTS,
        *allocator_waiting.MUTANTS,
        *allocator_lease.MUTANTS,
        *store_tables.MUTANTS,
        *store_holds.MUTANTS,
        *store_payments.MUTANTS,
        *payments_model.MUTANTS,
        *store_blocks.MUTANTS,
        *store_sales.MUTANTS,
        *tickets.MUTANTS,
        *store_hold_changes.MUTANTS,
        *store_waiting.MUTANTS,
        *store_events.MUTANTS,
        *store_lost_time.MUTANTS,
        *moved_plans.MUTANTS,
        *figures_money.MUTANTS,
        *figures_kept.MUTANTS,
        *mails_off.MUTANTS,
        *webhooks.MUTANTS,
        *beside.MUTANTS,
        *relay_fairness.MUTANTS,
        *allocator_replay.MUTANTS,
        *checker.MUTANTS,
        *checker_told.MUTANTS,
        *storm.MUTANTS,
        *chores.MUTANTS,
        *chores_run.MUTANTS,
        *chores_ended.MUTANTS,
        *mails.MUTANTS,
        *confirming.MUTANTS,
        *simulated.MUTANTS,
    ]


def chosen(words: list[str]) -> list[Mutant]:
    """Mutants whose guard, kind or file has one of `words` in it; all of them for none."""
    lowered = [word.lower() for word in words] or [""]
    return [
        mutant
        for mutant in all_mutants()
        if any(word in f"{mutant.guard}\n{mutant.kind}\n{mutant.file}".lower() for word in lowered)
    ]
