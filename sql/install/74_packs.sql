-- What diagnosis reads of packed values directly: a thousand nodes report millions of iterations, and as rows they
-- would take minutes.

CREATE FUNCTION l4._iterations_accum(internal, bytea, bytea, int, bigint, timestamptz) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'l4_iterations_accum';
CREATE FUNCTION l4._iterations_final(internal) RETURNS bytea[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_iterations_final';
--: packed iterations of numbered nodes, ordered by node, whose times are too late by that many microseconds, since a
--: time, as two packed values: (epoch, iteration, nodes, done_ts, duration_ms: median) and (node, train_ts,
--: progress_ts, iterations, last_iteration, last_epoch)
CREATE AGGREGATE l4._iteration_table(packed bytea, open bytea, node int, clock bigint, since timestamptz) (
    SFUNC = l4._iterations_accum, STYPE = internal, SSPACE = 1000000, FINALFUNC = l4._iterations_final, PARALLEL = SAFE
);

--: packed iterations of a stream whose records count up by a step, their first numbers and epochs known; high, where
--: they begin anew with each epoch, is the last number of one
CREATE FUNCTION l4._count_records(lines bigint[], times timestamptz[], known_lines bigint[], known_numbers int[],
    epoch_lines bigint[], epochs int[], step int, low int, high int) RETURNS bytea
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'l4_count_records_sql';

CREATE FUNCTION l4._late_accum(internal, bytea, bytea, int, int, float8, bigint, timestamptz) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'l4_late_accum';
CREATE FUNCTION l4._late_final(internal) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_late_final';
--: packed (node, ms, before_ms, spread_ms): how much later than the median node a node reports iterations on average
--: from that place on, less its median before; that median, and the median deviation from it; of iterations that so
--: many nodes report
CREATE AGGREGATE l4._late_nodes(packed bytea, open bytea, node int, place int, min_nodes float8, clock bigint,
    since timestamptz) (
    SFUNC = l4._late_accum, STYPE = internal, SSPACE = 1000000, FINALFUNC = l4._late_final, PARALLEL = SAFE
);

CREATE FUNCTION l4._deviations_accum(internal, bytea, bytea, int, int[], int[]) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'l4_deviations_accum';
CREATE FUNCTION l4._deviations_final(internal) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_deviations_final';
--: packed sequences, ordered by stream, of events some of which were merged into others since, to packed (stream,
--: epoch, iteration, distance, sigma): the iterations whose mean DTW distance to the ten before exceeds that of the
--: iterations before by three standard deviations
CREATE AGGREGATE l4._deviations(packed bytea, open bytea, stream int, merged int[], survivors int[]) (
    SFUNC = l4._deviations_accum, STYPE = internal, SSPACE = 1000000, FINALFUNC = l4._deviations_final, PARALLEL = SAFE
);

--: packed durations summed before a block of iterations and since; -1: all, those without iterations too
CREATE FUNCTION l4._duration_sums(packed bytea, open bytea, block int)
RETURNS TABLE (event_id int, slot int, n_before bigint, us_before bigint, n_since bigint, us_since bigint)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 500 ROWS 10 AS 'MODULE_PATHNAME', 'l4_duration_sums';

--: how far each rank of packed sequences got: the greatest of its epochs (upper 32 bits) and iterations
CREATE FUNCTION l4._last_of_ranks(packed bytea, open bytea) RETURNS TABLE (rank int, at bigint)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 500 ROWS 8 AS 'MODULE_PATHNAME', 'l4_last_of_ranks';

--: has packed activity a second from a time on and before another one
CREATE FUNCTION l4._wrote_between(packed bytea, open bytea, from_ts timestamptz, to_ts timestamptz) RETURNS bool
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'l4_wrote_between';

CREATE FUNCTION l4._activity_accum(internal, bytea, bytea, int, timestamptz, timestamptz, float8) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 200 AS 'MODULE_PATHNAME', 'l4_activity_accum';
CREATE FUNCTION l4._activity_final(internal) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_activity_final';
--: packed activity of streams that share lines of a picture, to packed (line, column, lines): columns are so many
--: seconds wide, at most 1,023 from a second before from_ts on
CREATE AGGREGATE l4._activity_columns(packed bytea, open bytea, line int, from_ts timestamptz, to_ts timestamptz,
    width float8) (
    SFUNC = l4._activity_accum, STYPE = internal, SSPACE = 200000, FINALFUNC = l4._activity_final, PARALLEL = SAFE
);
