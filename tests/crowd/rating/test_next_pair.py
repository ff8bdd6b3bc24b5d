"""PostgreSQL finds the next pair, and leases that have run out, by their index.

Whatever the tables hold, and whatever the planner knows of them.
"""

import json

import pytest

from seedvote.crowd.rating.leasing import query_due
from seedvote.crowd.rating.moment import Frontier, query_next_pair
from seedvote.crowd.store.postgresql import _compile_words
from seedvote.crowd.store.store import open_store
from tests.crowd.study import database

FEW, MANY, MOST = 200, 5_000, 200_000
FORBIDDEN = {"Seq Scan", "Bitmap Heap Scan", "Hash Join", "Merge Join", "Hash Anti Join"}
PAIRS = """
INSERT INTO pairs (pair, position, kind, open, votes, live, offered, body, version)
SELECT 'p' || n, hashint8extended(n, 0), 'real', 1, 0, 0, 1, repeat('x', 900), {version} FROM generate_series(1, {n}) n
"""
# In a second round: each pair was judged by one of 16 raters, the one whose plan is looked at among them.
JUDGED = """
INSERT INTO leases (token, attempt, rater, sitting, slot, pair, kind, "left", state, issued, expires)
SELECT md5(pair), 0, 'r' || mod(abs(position), 16), 1, 0, pair, 'real', 'a', 'answered', 0, 0
FROM pairs ORDER BY position LIMIT 8000
"""
# This rater has seen all that come first: as when others hand back what they had in hand.
SEEN = """
INSERT INTO leases (token, attempt, rater, sitting, slot, pair, kind, "left", state, issued, expires)
SELECT md5(pair), 0, 'r0', 1, 0, pair, 'real', 'a', 'answered', 0, 0
FROM pairs WHERE version IN (0, 3) ORDER BY live, position LIMIT 100
"""
ONE_EACH = "UPDATE pairs SET votes = 1, live = 1 WHERE pair IN (SELECT pair FROM leases)"
REST = "UPDATE pairs SET votes = 1, live = 1 WHERE live = 0"
RATER = "INSERT INTO raters (rater, source, status, arrived, instructed, version) VALUES ('r0', 'x', 'x', 0, 0, 3)"
KNOWLEDGE = ["none", "fresh", "stale"]


@pytest.fixture
def store(tmp_path):
    with database("postgresql", tmp_path) as url:
        opened = open_store(url, seed=0, serving=True)
        yield opened
        opened.close()


def run(store, *statements):
    with store.write() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def analyze(store):
    run(store, "ANALYZE")


def fill(store, number, versions, knowledge):
    run(store, "TRUNCATE pairs, leases, raters", "DELETE FROM pg_statistic WHERE starelid = 'pairs'::regclass")
    if knowledge == "stale":  # of a study that had just begun
        run(store, PAIRS.format(n=5, version=0))
        analyze(store)
        run(store, "TRUNCATE pairs")
    run(store, PAIRS.format(n=number, version="mod(n, 8) + 1" if versions else 0))
    run(
        store,
        "INSERT INTO raters (rater, source, status, arrived, instructed, version) VALUES ('r0', 'x', 'x', 0, 0, 3)",
    )


def nodes(plan):
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)


def pick(store, frontier, *, versions):
    return explain(store, *query_next_pair("r0", frontier=frontier, versions=versions))


def explain(store, query, values):
    """The plan as it was run: its nodes, and the pages that it touched."""
    words = _compile_words(query, None)
    with store.write_rows("r0") as connection:
        connection.exec_driver_sql("DEALLOCATE ALL")
        connection.info["prepared"] = set()
        connection.exec_driver_sql(f"PREPARE pick AS {words.text}")
        given = ", ".join("'" + str(value) + "'" for value in words.ordered(values))
        explained = connection.exec_driver_sql(
            f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) EXECUTE pick({given})"
        ).scalar()
    top = (json.loads(explained) if isinstance(explained, str) else explained)[0]["Plan"]
    return list(nodes(top)), top["Shared Hit Blocks"] + top["Shared Read Blocks"]


@pytest.mark.parametrize("knowledge", KNOWLEDGE)
@pytest.mark.parametrize("versions", [False, True], ids=["all see all", "versions"])
def test_next_pair_is_found_by_its_index(store, versions, knowledge):
    look(store, versions, knowledge, (FEW, MANY))


@pytest.mark.parametrize("knowledge", ["none", "stale"])
@pytest.mark.parametrize("versions", [False, True], ids=["all see all", "versions"])
def test_each_pair_in_front_that_the_rater_has_seen_costs_one_look(store, versions, knowledge):
    fill(store, 5 * FEW, versions, knowledge)
    run(store, SEEN)
    for way in (None, Frontier(lambda: 0.0)):
        plan, pages = pick(store, way, versions=versions)
        assert not any(node.get("Rows Removed by Join Filter") for node in plan)
        assert sum(node.get("Rows Removed by Filter", 0) for node in plan) <= 100
        assert pages < 420, pages  # three of an index and a table for each pair; a join of all with all touched 2,600


@pytest.mark.slow
@pytest.mark.parametrize("knowledge", KNOWLEDGE)
@pytest.mark.parametrize("versions", [False, True], ids=["all see all", "versions"])
def test_the_next_pair_is_found_as_soon_among_200000_pairs(store, versions, knowledge):
    look(store, versions, knowledge, (MOST,))


def look(store, versions, knowledge, numbers):
    for number in numbers:
        fill(store, number, versions, knowledge)
        touched = {}
        for moment in ("first", "500th"):
            if moment == "500th":
                run(store, JUDGED, ONE_EACH, REST)
            if knowledge == "fresh":
                analyze(store)
            frontier = Frontier(lambda: 0.0)
            with store.read() as connection:
                front = connection.exec_driver_sql("SELECT live, position FROM pairs ORDER BY 1, 2 LIMIT 1").one()
            frontier.where()
            frontier.reached(front)  # as the search before this one left it
            for way in (None, frontier):
                plan, pages = pick(store, way, versions=versions)
                assert not FORBIDDEN & {node["Node Type"] for node in plan}, (number, moment)
                indexes = {node.get("Index Name") for node in plan}
                assert "pairs_next" in indexes and indexes & {"leases_rater_pair_key", "leases_pair"}
                assert sum(node.get("Rows Removed by Filter", 0) for node in plan) < 40, (number, moment)
                touched[moment, way is None] = pages
        if not versions:
            assert touched["500th", False] < touched["first", False] + 20, touched
            assert touched["500th", False] < 40


@pytest.mark.parametrize("knowledge", ["none", "fresh"])
def test_leases_that_have_run_out_are_found_past_those_that_were_answered(store, knowledge):
    """Each answer leaves an entry of a held lease in the index, until a look has passed it."""
    fill(store, MANY, False, "none")
    run(store, JUDGED.replace("'answered'", "'held'").replace("8000", "3000"))
    run(store, "UPDATE leases SET state = 'answered', expires = 9e9")
    run(store, "UPDATE leases SET state = 'held' WHERE rater = 'r3' AND mod(lease, 8) = 3")
    if knowledge == "fresh":
        analyze(store)
    for _ in range(2):
        plan, pages = explain(store, *query_due(1.0))
    assert not (FORBIDDEN | {"Sort"}) & {node["Node Type"] for node in plan}
    assert {node.get("Index Name") for node in plan} <= {"leases_due", None}
    assert pages < 100, pages  # those of the index; the table has more
