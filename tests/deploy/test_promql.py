"""The small reader of queries reads what Prometheus reads, and refuses what it does not know."""

from __future__ import annotations

import pytest

from tests.deploy.promql import NotRead, Selector, evaluate, read, selectors

SERIES = {
    ("a", frozenset({("event", "gala"), ("at", "x")})): [1.0, 4.0, 2.0],
    ("a", frozenset({("event", "gala"), ("at", "y")})): [3.0, 3.0, 3.0],
    ("a", frozenset({("event", "gig"), ("at", "x")})): [0.0, 0.0, 0.0],
    ("b", frozenset({("event", "gala")})): [10.0],
}


def told(query):
    return {tuple(sorted(labels)): value for labels, value in evaluate(read(query), SERIES).items()}


@pytest.mark.parametrize(
    ("query", "values"),
    [
        ("sum(a)", [5]),
        ("sum by (event) (a)", [0, 5]),
        ("sum(a) by (event)", [0, 5]),
        ("max without (at) (a)", [0, 3]),
        ('a{at!="x"}', [3]),
        ('a{event=~"g.*", at="x"}', [0, 2]),
        ('a{event!~"gi.", at="x"}', [2]),
        ("a > 1", [2, 3]),
        ("sum by (event) (a) / b", [0.5]),
        ("1 + 2 * 3", [7]),
        ("(1 + 2) * 3", [9]),
        ("changes(a[1m])", [0, 0, 2]),
        ("increase(a[1m])", [0, 0, 5]),
        ("absent(a)", []),
        ("absent(c)", [1]),
        ("c or b", [10]),
        ("a and on (event) b", [2, 3]),
        ("a unless on (event) b", [0]),
        ("a == 3 and on () sum(b) > 5", [3]),
    ],
)
def test_queries_give_what_they_say(query, values):
    assert sorted(told(query).values()) == values


def test_what_fell_began_anew():
    """A counter that is lower was restarted: what it has counted since is all there is."""
    assert told("increase(a[1m])")[("at", "x"), ("event", "gala")] == 3 + 2


def test_a_quantile_is_the_bound_of_its_bucket():
    buckets = {
        ("h_bucket", frozenset({("le", le)})): [count]
        for le, count in (("1", 5.0), ("2", 9.0), ("+Inf", 10.0))
    }
    assert list(evaluate(read("histogram_quantile(0.5, sum by (le) (h_bucket))"), buckets).values()) == [1]
    assert list(evaluate(read("histogram_quantile(0.9, h_bucket)"), buckets).values()) == [2]


@pytest.mark.parametrize(
    "query",
    ["a[", "a{", 'a{x="1"', "sum(a", "rate(a[5])", "a b", "", "f(a)", "a == ", "a ; b", "a{x=1}", "a @ 5"],
)
def test_what_is_no_query_or_not_known_is_refused(query):
    with pytest.raises(NotRead):
        read(query)


def test_every_selector_is_found():
    found = list(selectors(read('sum(rate(x_total{event="g"}[5m])) > 2 * y and z')))
    assert [one.name for one in found] == ["x_total", "y", "z"]
    assert found[0] == Selector("x_total", [("event", "=", "g")], 300.0)
