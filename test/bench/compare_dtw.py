#!/usr/bin/env python3
"""Dynamic time warping: l4 against the C library of dtaidistance, on the same pairs.

    python3 test/bench/compare_dtw.py

Needs numpy, dtaidistance (with its C library) and a database with the
extension (libpq's environment variables say which). Without one of them it
says so and exits with 0. Prints, for several lengths, the time of a pair, best
of five rounds on one core, and the greatest difference of the results. The
library is called the way it is fastest: one call for all pairs of a matrix
where they are short. It has no distance of 0 or 1 a step; the integers of
dtw_distance are given to it as numbers, which costs it the same.
"""
import subprocess
import sys
import time

try:
    import numpy as np
    from dtaidistance import dtw
    if not dtw.try_import_c():
        raise ImportError("the C library of dtaidistance")
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(0)

ROUNDS = 5


def psql(sql):
    run = subprocess.run(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"],
                         input=sql, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(run.stderr)
    return run.stdout.splitlines()


def ours(kind, function, sequences, pairs, band):
    """Milliseconds for all pairs, and their distances."""
    lines = [f"CREATE TEMP TABLE s (id int, x {kind}[]);", "COPY s FROM stdin;"]
    lines += [f"{i}\t{{" + ",".join(map(str, s)) + "}" for i, s in enumerate(sequences)]
    lines += ["\\.", "CREATE TEMP TABLE pair (o int, a int, b int);", "COPY pair FROM stdin;"]
    lines += [f"{o}\t{a}\t{b}" for o, (a, b) in enumerate(pairs)]
    lines += ["\\.",
              # both sequences of a pair in one row, so that the join is not timed
              f"CREATE TEMP TABLE both_ AS SELECT o, a.x AS a, b.x AS b FROM pair JOIN s AS a ON a.id = pair.a JOIN s AS b ON b.id = pair.b ORDER BY o;",
              "SET max_parallel_workers_per_gather = 0;", "\\timing on"]
    lines += [f"SELECT count(l4.{function}(a, b, {band})) FROM both_;"] * ROUNDS
    lines += ["\\timing off", f"SELECT l4.{function}(a, b, {band}) FROM both_ ORDER BY o;"]
    out = psql("\n".join(lines) + "\n")
    times = [float(line.split()[1]) for line in out if line.startswith("Time")]
    return min(times), np.array([float(line) for line in out[-len(pairs):]])


def theirs(sequences, pairs, band):
    options = {"inner_dist": "euclidean"}
    if band is not None:
        options["window"] = band + 1    # theirs counts the diagonal
    floats = [np.asarray(s, dtype=np.float64) for s in sequences]
    every = len(pairs) == len(floats) * (len(floats) - 1) // 2
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        if every:
            result = dtw.distance_matrix_fast(floats, parallel=False, compact=True, **options)
        else:
            result = [dtw.distance_fast(floats[a], floats[b], **options) for a, b in pairs]
        best = min(best, time.perf_counter() - start)
    return best * 1000, np.array(result)


def main():
    rng = np.random.default_rng(7)
    print(f"{'length':>8} {'band':>6} {'pairs':>6}  {'dtaidistance':>14} {'numeric':>10} {'times':>6} {'0/1':>10} {'times':>6}  difference")
    for length, count, band in ((20, 200, None), (100, 100, None), (500, 12, None), (500, 12, 25), (2000, 6, None), (10000, 2, None)):
        integers = [rng.integers(0, 50, length) for _ in range(count)]
        floats = [np.round(s + rng.random(length), 3) for s in integers]
        pairs = [(a, b) for a in range(count) for b in range(a + 1, count)]
        sql_band = "NULL" if band is None else band
        library, expected = theirs(floats, pairs, band)
        numeric, result = ours("float8", "dtw_distance_numeric", floats, pairs, sql_band)
        events, _ = ours("int", "dtw_distance", integers, pairs, sql_band)
        n = len(pairs)
        print(f"{length:>8} {sql_band:>6} {n:>6}  {library / n * 1000:>11.1f} us {numeric / n * 1000:>7.1f} us {library / numeric:>6.1f} "
              f"{events / n * 1000:>7.1f} us {library / events:>6.1f}  {np.abs(result - expected).max():.1e}")


main()
