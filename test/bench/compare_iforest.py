#!/usr/bin/env python3
"""Isolation forest: l4 against scikit-learn, on the same data.

    python3 test/bench/compare_iforest.py [nodes] [events]

Needs numpy, scikit-learn and a database with the extension (libpq's
environment variables say which). Without numpy or scikit-learn it says so and
exits with 0. Prints, for dense and for sparse event vectors:
  - the rank correlation of the scores of both at 1,000 trees, on data with
    planted outliers;
  - the time of training (100 trees, samples of 256) and scoring all rows, best
    of five, both on one core: ours from the stored table (and with the rows in
    memory), scikit-learn's from an array in memory.
"""
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
ROUNDS = 5


def psql(sql):
    run = subprocess.run(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"],
                         input=sql, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(run.stderr)
    return run.stdout


def load(counts):
    """The counts as event vectors, in their text form."""
    lines = ["DROP TABLE IF EXISTS l4_compare;",
             "CREATE TABLE l4_compare (node int, v l4.event_vector);",
             "COPY l4_compare FROM stdin;"]
    for node, row in enumerate(counts):
        events = np.flatnonzero(row)
        lines.append(f"{node}\t{{" + ", ".join(f"{e + 1}:{row[e]}" for e in events) + "}")
    lines += ["\\.", "VACUUM ANALYZE l4_compare;"]
    psql("\n".join(lines) + "\n")


def ours(source, trees=100):
    return (f"SELECT t.node, l4.iforest_score(f.f, t.v) AS score FROM {source} AS t, "
            f"(SELECT l4.iforest_train(v, '{{\"trees\": {trees}, \"sample_size\": 256, \"seed\": 1}}') AS f FROM {source}) AS f")


def time_ours(source):
    sql = "SET max_parallel_workers_per_gather = 0; SET work_mem = '1GB';\n\\timing on\n"
    query = f"SELECT sum(score) FROM ({ours(source)}) AS s;\n"
    if source == "memory":
        # an expression takes the rows out of the table, once
        query = ("WITH memory AS MATERIALIZED (SELECT node, v OPERATOR(l4.+) '{}' AS v FROM l4_compare) " + query)
    out = psql(sql + query * ROUNDS)
    return min(float(line.split()[1]) for line in out.splitlines() if line.startswith("Time"))


def ranks(x):
    order = np.argsort(x, kind="stable")
    result = np.empty(len(x))
    result[order] = np.arange(len(x))
    # equal scores share their mean rank
    values, inverse = np.unique(x, return_inverse=True)
    return np.bincount(inverse, result)[inverse] / np.bincount(inverse)[inverse]


def main():
    rng = np.random.default_rng(20240501)
    for name, density in (("dense", 1.0), ("a tenth of the events", 0.1), ("a hundredth", 0.01)):
        counts = rng.poisson(20, size=(NODES, EVENTS))
        counts *= rng.random((NODES, EVENTS)) < density
        outliers = rng.choice(NODES, NODES // 50, replace=False)
        for node in outliers:
            events = rng.choice(EVENTS, EVENTS // 5, replace=False)
            counts[node, events] += rng.integers(20, 200, len(events))
        x = counts.astype(np.float64)
        load(counts)

        fit = score = float("inf")
        for round_no in range(ROUNDS):
            start = time.perf_counter()
            forest = IsolationForest(n_estimators=100, max_samples=256, random_state=round_no).fit(x)
            middle = time.perf_counter()
            forest.score_samples(x)
            end = time.perf_counter()
            if end - start < fit + score:
                fit, score = middle - start, end - middle
        theirs = -IsolationForest(n_estimators=1000, max_samples=256, random_state=1).fit(x).score_samples(x)
        again = -IsolationForest(n_estimators=1000, max_samples=256, random_state=2).fit(x).score_samples(x)
        rows = [line.split("|") for line in psql(ours("l4_compare", 1000) + " ORDER BY node;").splitlines()]
        mine = np.array([float(s) for _, s in rows])
        top = set(np.argsort(-mine)[:len(outliers)]) & set(outliers)

        stored = time_ours("l4_compare")
        memory = time_ours("memory")
        total = (fit + score) * 1000
        print(f"{NODES} x {EVENTS}, {name}:")
        print(f"  rank correlation with scikit-learn {np.corrcoef(ranks(mine), ranks(theirs))[0, 1]:.4f} "
              f"(two seeds of scikit-learn: {np.corrcoef(ranks(theirs), ranks(again))[0, 1]:.4f}), "
              f"greatest difference of a score {np.abs(mine - theirs).max():.4f}, "
              f"planted outliers on top {len(top)} of {len(outliers)}")
        print(f"  train and score: scikit-learn {total:.0f} ms ({fit * 1000:.0f} + {score * 1000:.0f}), "
              f"l4 from the table {stored:.0f} ms ({total / stored:.1f} times as fast), "
              f"from memory {memory:.0f} ms ({total / memory:.1f} times)")
    psql("DROP TABLE l4_compare;")


main()
