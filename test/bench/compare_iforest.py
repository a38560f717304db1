#!/usr/bin/env python3
"""Isolation forest: l4 against scikit-learn, on the same data.

    python3 test/bench/compare_iforest.py [nodes] [events]

Needs numpy, scikit-learn and a database with the extension (libpq's
environment variables say which). Without numpy or scikit-learn it says so and
exits with 0. Prints
  - how alike the scores are at 1,000 trees, on data with planted outliers,
    beside how alike scikit-learn's own are under two seeds: among thousands of
    noisy events the rank of an ordinary node is chance for either;
  - the time of training (100 trees, samples of 256) and scoring all rows, on one
    core, elapsed and of the processor, the median of three rounds that each take the
    best of several calls: ours from a table, from one that keeps vectors out of the
    row, and with the rows in memory; scikit-learn's from an array in memory;
  - where 8 nodes come that differ in 20 of the noisy events: with all events,
    and with those alone that some node has far more of than the others.
"""
import re
import statistics
import subprocess
import sys
import time

try:
    import numpy as np
    from sklearn.ensemble import IsolationForest
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(0)

NODES = int(sys.argv[1]) if len(sys.argv) > 1 else 4096
EVENTS = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
ROUNDS = 3
CALLS = 5


def psql(sql, messages=False):
    run = subprocess.run(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"],
                         input=sql, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(run.stderr)
    return run.stderr if messages else run.stdout


def load(counts, storage="main"):
    """The counts as event vectors, in their text form."""
    lines = ["DROP TABLE IF EXISTS l4_compare;",
             "CREATE TABLE l4_compare (node int, v l4.event_vector);",
             f"ALTER TABLE l4_compare ALTER v SET STORAGE {storage};",
             "COPY l4_compare FROM stdin;"]
    for node, row in enumerate(counts):
        events = np.flatnonzero(row)
        lines.append(f"{node}\t{{" + ", ".join(f"{e + 1}:{row[e]}" for e in events) + "}")
    lines += ["\\.", "VACUUM ANALYZE l4_compare;"]
    psql("\n".join(lines) + "\n")


def ours(source, trees=100):
    return (f"SELECT t.node, l4.iforest_score(f.f, t.v) AS score FROM {source} AS t, "
            f"(SELECT l4.iforest_train(v, '{{\"trees\": {trees}, \"sample_size\": 256, \"seed\": 1}}') AS f FROM {source}) AS f")


def scores(source="l4_compare", trees=1000):
    rows = [line.split("|") for line in psql(ours(source, trees) + " ORDER BY node;").splitlines()]
    return np.array([float(score) for _, score in rows])


def milliseconds(source):
    """Train and score; nothing is kept from one call to the next. Elapsed and processor time."""
    sql = "SET max_parallel_workers_per_gather = 0; SET work_mem = '1GB';\n"
    query = f"SELECT sum(score) FROM ({ours(source)}) AS s;\n"
    bare = ""
    if source == "memory":
        # an expression takes the rows out of the table; what that costs is taken off
        rows = "WITH memory AS MATERIALIZED (SELECT node, v OPERATOR(l4.+) '{}' AS v FROM l4_compare) "
        query = rows + query
        bare = rows + "SELECT count(v) FROM memory;\n"
    best = np.zeros(2)
    for sign, each in ((1, query), (-1, bare)):
        if each:
            # the first call of a connection reads catalogs and loads the library
            report = psql(f"{sql}{each}SET client_min_messages = log; SET log_statement_stats = on;\n{each * CALLS}", True)
            times = [tuple(map(float, found)) for found in re.findall(r"!\s+([\d.]+) s user, ([\d.]+) s system, ([\d.]+) s elapsed", report)[-CALLS:]]
            best += sign * 1000 * np.array([min(t[2] for t in times), min(t[0] + t[1] for t in times)])
    return best


def time_theirs(x, seed):
    times = []
    for _ in range(CALLS):
        start = time.perf_counter(), time.process_time()
        forest = IsolationForest(n_estimators=100, max_samples=256, random_state=seed, n_jobs=1).fit(x)
        forest.score_samples(x)
        times.append((time.perf_counter() - start[0], time.process_time() - start[1]))
    return 1000 * np.min(times, axis=0)


def ranks(x):
    order = np.argsort(x, kind="stable")
    result = np.empty(len(x))
    result[order] = np.arange(len(x))
    # equal scores share their mean rank
    _, inverse = np.unique(x, return_inverse=True)
    return np.bincount(inverse, result)[inverse] / np.bincount(inverse)[inverse]


def rank_correlation(x, y):
    return np.corrcoef(ranks(x), ranks(y))[0, 1]


def compare_scores(name, counts, outliers):
    x = counts.astype(np.float64)
    load(counts)
    mine = scores()
    theirs, again = (-IsolationForest(n_estimators=1000, max_samples=256, random_state=seed).fit(x).score_samples(x) for seed in (1, 2))
    top = set(np.argsort(-mine)[:len(outliers)]) & set(outliers)
    print(f"{name}, {counts.shape[0]} x {counts.shape[1]}: rank correlation with scikit-learn {rank_correlation(mine, theirs):.4f} "
          f"(scikit-learn under two seeds {rank_correlation(theirs, again):.4f}), greatest difference of a score "
          f"{np.abs(mine - theirs).max():.4f} ({np.abs(again - theirs).max():.4f}), {len(top)} of {len(outliers)} planted outliers on top")


def compare_time(name, counts):
    x = counts.astype(np.float64)
    load(counts, "external")
    psql("DROP TABLE IF EXISTS l4_compare_out; ALTER TABLE l4_compare RENAME TO l4_compare_out;")
    load(counts)
    # in turn, so that what else the machine does meets all of them
    rounds = [(time_theirs(x, seed), milliseconds("l4_compare"), milliseconds("l4_compare_out"), milliseconds("memory"))
              for seed in range(ROUNDS)]
    for k, kind in enumerate(("elapsed", "of the processor")):
        theirs, table, outside, memory = (statistics.median(times[k] for times in column) for column in zip(*rounds))
        print(f"{name}, {counts.shape[0]} x {counts.shape[1]}, time {kind}: scikit-learn {theirs:.0f} ms; l4 {table:.0f} ms from a table "
              f"({theirs / table:.1f} times as fast), {outside:.0f} ms with vectors out of the row ({theirs / outside:.1f}), "
              f"{memory:.0f} ms from memory ({theirs / memory:.1f})")


def show_filter(rng):
    counts = rng.poisson(20, size=(NODES, EVENTS))
    odd = rng.choice(NODES, 8, replace=False)
    events = rng.choice(EVENTS, 20, replace=False)
    for node in odd:
        counts[node, events] += 40
    load(counts)
    filtered = ("WITH deviating AS (SELECT event_id FROM l4_compare, l4.event_vector_each(v) GROUP BY event_id "
                "HAVING max(n) > avg(n) + 7 * stddev(n)), kept AS MATERIALIZED (SELECT node, l4.event_vector_agg(event_id, n) "
                "FILTER (WHERE event_id IN (SELECT event_id FROM deviating)) AS v FROM l4_compare, l4.event_vector_each(v) GROUP BY node) ")
    for name, sql in (("all events", ours("l4_compare")), ("deviating events", filtered + ours("kept"))):
        rows = [line.split("|") for line in psql(sql + " ORDER BY score DESC, node;").splitlines()]
        order = [int(node) for node, _ in rows]
        print(f"8 nodes of {NODES} differ in 20 of {EVENTS} noisy events, {name}: their ranks are {sorted(order.index(node) + 1 for node in odd)}")


def main():
    rng = np.random.default_rng(20240501)
    few = rng.negative_binomial(2, 0.05, size=(NODES, 12))
    outliers = rng.choice(NODES, NODES // 50, replace=False)
    few[outliers] += rng.integers(0, 400, size=(len(outliers), 12))
    compare_scores("a dozen events", few, outliers)
    for name, density in (("all events on all nodes", 1.0), ("a tenth of them", 0.1), ("a hundredth", 0.01)):
        counts = rng.poisson(20, size=(NODES, EVENTS)) * (rng.random((NODES, EVENTS)) < density)
        outliers = rng.choice(NODES, NODES // 50, replace=False)
        for node in outliers:
            events = rng.choice(EVENTS, EVENTS // 5, replace=False)
            counts[node, events] += rng.integers(20, 200, len(events))
        compare_scores(name, counts, outliers)
        compare_time(name, counts)
    show_filter(rng)
    psql("DROP TABLE l4_compare, l4_compare_out;")


main()
