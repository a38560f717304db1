-- Network flows: which spans are due, and what is looked at in each.

-- The next span of a size is begun when all that is seen with the one before it is there. Till then that one is open:
-- all belongs to it that came since.
--: the last span of flows of a size
CREATE FUNCTION l4._flow_open_span(size int) RETURNS bigint
LANGUAGE sql STABLE STRICT
RETURN (SELECT l4._flow_span_of((SELECT max(s.last_ts) FROM l4._flow_source AS s) - z.behind * interval '1 second',
            z.size, z.seconds)
        FROM l4._flow_sizes() AS z WHERE z.size = _flow_open_span.size);

--: spans of flows, what their analysis depends on, and whether that is new
CREATE FUNCTION l4._flow_begun(least_span bigint, most_span bigint, OUT span bigint, OUT block bigint,
    OUT first_ts timestamptz, OUT last_ts timestamptz, OUT endpoints bigint, OUT nics inet[], OUT stale bool)
RETURNS SETOF record
LANGUAGE sql STABLE ROWS 100
BEGIN ATOMIC
    WITH size AS MATERIALIZED (
        SELECT z.*, l4._flow_open_span(z.size) AS open FROM l4._flow_sizes() AS z
    )
    SELECT p.span, l4._flow_block(p.span), w.first_ts, w.last_ts, k.endpoints, p.nics, p.changed
        OR p.first_ts IS DISTINCT FROM w.first_ts OR p.last_ts IS DISTINCT FROM w.last_ts
        OR p.endpoints IS DISTINCT FROM k.endpoints
    FROM (SELECT min(s.first_ts) AS first_ts, max(s.last_ts) AS last_ts,
            (SELECT coalesce(sum(hashtext(concat(e.address, '|', e.machine, '|', e.switch))::bigint), 0)::bigint
             FROM l4.flow_endpoint AS e) AS endpoints
        FROM l4._flow_source AS s) AS k
    CROSS JOIN size AS z
    JOIN l4._flow_span AS p ON p.span & 3 = z.size AND p.span <= z.open AND p.span BETWEEN least_span AND most_span
    CROSS JOIN LATERAL (
        SELECT greatest(k.first_ts, l4._flow_span_start(p.span) - z.before * interval '1 second') AS first_ts,
            CASE WHEN p.span < z.open THEN 'infinity' ELSE k.last_ts END AS last_ts) AS w;
END;

-- NICs that short spans of a size look at in a block: those of jobs that went on when the block before ended. What an
-- open long span found is not settled: it has what came since, too. Of a block that was forgotten nothing is asked.
--: NICs that short spans of a size look at in a block
CREATE FUNCTION l4._flow_settled(block bigint, size int) RETURNS inet[]
LANGUAGE sql STABLE STRICT
BEGIN ATOMIC
    WITH stint AS (
        SELECT s.span, s.stint, s.nics,
            (SELECT max(z.size) FROM l4._flow_sizes() AS z WHERE s.usual_ms <= z.period_ms) AS size
        FROM l4._flow_stint AS s
        WHERE s.span >= _flow_settled.block - 40 AND s.span < _flow_settled.block AND NOT s.hidden AND NOT s.coarse
            AND l4._flow_span_end(s.span) = l4._flow_span_start(_flow_settled.block)
            AND s.last_ts >= l4._flow_span_start(_flow_settled.block)
            AND (s.span & 3 IN (1, 2) OR s.steps >= 20 AND s.span < (SELECT l4._flow_open_span(0)))
    ), nic AS (
        SELECT s.span, s.stint, s.size, u.address, count(*) OVER (PARTITION BY u.address) AS jobs
        FROM stint AS s CROSS JOIN unnest(s.nics) AS u(address)
    ), alone AS (
        SELECT n.span, n.stint FROM nic AS n
        WHERE n.size = _flow_settled.size GROUP BY n.span, n.stint HAVING max(n.jobs) = 1
    ), found AS (
        SELECT n.address FROM nic AS n JOIN alone AS a ON a.span = n.span AND a.stint = n.stint
    )
    SELECT CASE WHEN EXISTS (SELECT FROM l4._flow_span AS p WHERE p.span = _flow_settled.block - 40)
        THEN ARRAY(SELECT f.address FROM found AS f
            -- another address of the same NIC
            UNION SELECT o.address FROM found AS f JOIN l4.flow_endpoint AS e ON e.address = f.address
            JOIN l4.flow_endpoint AS o ON o.machine = e.machine AND o.nic = e.nic
            ORDER BY 1)
        ELSE coalesce((SELECT p.nics FROM l4._flow_span AS p WHERE p.span > _flow_settled.block
            AND p.span < _flow_settled.block + 40 AND p.span & 3 = _flow_settled.size
            ORDER BY p.span LIMIT 1), '{}') END;
END;

-- Names are taken from a span and all later ones, so that a job is named anew by what it began with.
--: takes the jobs from the stints of a span of flows and of later ones
CREATE FUNCTION l4._flow_unname(span bigint) RETURNS void
LANGUAGE plpgsql VOLATILE STRICT SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    DELETE FROM l4.flow_job AS j USING l4._flow_stint AS s
    WHERE s.span >= _flow_unname.span AND s.flow_job = j.flow_job;
    UPDATE l4._flow_stint AS x SET flow_job = NULL WHERE x.span >= _flow_unname.span AND x.flow_job IS NOT NULL;
END
$$;

--: deletes what was found in spans of flows
CREATE FUNCTION l4._flow_clear(spans bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE STRICT SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM l4._flow_unname(min(x.span)) FROM l4._flow_stint AS x WHERE x.span = ANY (spans);
    DELETE FROM l4._flow_stint AS x WHERE x.span = ANY (spans);
    DELETE FROM l4._flow_stint_step AS x WHERE x.span = ANY (spans);
    DELETE FROM l4._flow_stint_nic AS x WHERE x.span = ANY (spans);
    DELETE FROM l4._flow_stint_pair AS x WHERE x.span = ANY (spans);
    DELETE FROM l4._flow_stint_issue AS x WHERE x.span = ANY (spans);
END
$$;

-- Spans of a block beside the long one: begun up to the open one, or gone where they have nothing to look at.
--: makes the spans of a size that a block needs
CREATE FUNCTION l4._flow_begin_others(block bigint, size int, nics inet[]) RETURNS void
LANGUAGE plpgsql VOLATILE STRICT SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    old constant bigint[] := ARRAY(SELECT p.span FROM l4._flow_span AS p
        WHERE p.span > block AND p.span < block + 40 AND p.span & 3 = size);
BEGIN
    IF nics <> '{}' THEN
        INSERT INTO l4._flow_span (span, changed)
        SELECT x.span, true
        FROM l4._flow_sizes() AS z CROSS JOIN generate_series(block + z.size,
            least(block + 39, l4._flow_open_span(z.size)), z.seconds / 15) AS x(span)
        WHERE z.size = _flow_begin_others.size
        ON CONFLICT DO NOTHING;
        RETURN;
    END IF;
    PERFORM l4._flow_clear(old);
    DELETE FROM l4._flow_span AS p WHERE p.span = ANY (old);
END
$$;

-- NICs that the long span of a block leaves out: those of jobs that all its short spans found as they were. Or NICs for
-- its wide span: those that the long one did not find. What the others found of these is hidden.
--: NICs that the long span of a block leaves out to its short ones, or to its wide one
CREATE FUNCTION l4._flow_not_found(block bigint, size int) RETURNS inet[]
LANGUAGE plpgsql VOLATILE STRICT SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    others constant int[] := CASE size WHEN 0 THEN '{1,2}'::int[] ELSE '{0}' END;
    unsure inet[] := ARRAY(SELECT DISTINCT u.address FROM l4._flow_span AS p CROSS JOIN unnest(p.unsure) AS u(address)
                           WHERE p.span BETWEEN block AND block + 39 AND p.span & 3 = ANY (others));
    more inet[];
    first bigint;
BEGIN
    LOOP
        more := ARRAY(SELECT u.address FROM l4._flow_stint AS s CROSS JOIN unnest(s.nics) AS u(address)
                      WHERE s.span BETWEEN block AND block + 39 AND s.span & 3 = ANY (others) AND s.nics && unsure
                      EXCEPT SELECT u.address FROM unnest(unsure) AS u(address));
        EXIT WHEN more = '{}';
        unsure := unsure || more;
    END LOOP;
    first := (SELECT min(s.span) FROM l4._flow_stint AS s
              WHERE s.span BETWEEN block AND block + 39 AND s.span & 3 = ANY (others)
                AND s.hidden <> (s.nics && unsure));
    IF first IS NOT NULL THEN
        PERFORM l4._flow_unname(first);
        UPDATE l4._flow_stint AS s SET hidden = s.nics && unsure WHERE s.span BETWEEN first AND block + 39
            AND s.span & 3 = ANY (others) AND s.hidden <> (s.nics && unsure);
    END IF;
    IF size > 0 THEN
        RETURN ARRAY(SELECT u.address FROM unnest(unsure) AS u(address) ORDER BY 1);
    END IF;
    RETURN ARRAY(SELECT u.address FROM l4._flow_span AS p CROSS JOIN unnest(p.nics) AS u(address)
                 WHERE p.span BETWEEN block AND block + 39 AND p.span & 3 = ANY (others)
                 EXCEPT SELECT u.address FROM unnest(unsure) AS u(address) ORDER BY 1);
END
$$;

--: the first span of flows whose analysis would find something else now
CREATE FUNCTION l4._flow_due(OUT span bigint, OUT block bigint, OUT first_ts timestamptz, OUT last_ts timestamptz,
    OUT endpoints bigint, OUT nics inet[])
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    wanted inet[];
    z int;
BEGIN
    FOR block IN
        SELECT b.block FROM l4._flow_begun((SELECT min(p.span) FROM l4._flow_span AS p), l4._flow_open_span(2)) AS b
        WHERE b.stale
        UNION SELECT p.span FROM l4._flow_span AS p WHERE NOT p.settled AND p.span & 3 = 0
        ORDER BY 1
    LOOP
        FOR z IN SELECT s.size FROM l4._flow_sizes() AS s ORDER BY s.before LOOP
            wanted := CASE WHEN z IN (1, 2) THEN l4._flow_settled(_flow_due.block, z)
                ELSE l4._flow_not_found(_flow_due.block, z) END;
            IF z > 0 THEN
                PERFORM l4._flow_begin_others(_flow_due.block, z, wanted);
            END IF;
            SELECT b.span, b.first_ts, b.last_ts, b.endpoints, wanted INTO span, first_ts, last_ts, endpoints, nics
            FROM l4._flow_begun(_flow_due.block, _flow_due.block + 39) AS b
            WHERE b.span & 3 = z AND (b.stale OR b.nics <> wanted)
            ORDER BY b.span LIMIT 1;
            IF FOUND THEN
                RETURN;
            END IF;
        END LOOP;
        UPDATE l4._flow_span AS p SET settled = true WHERE p.span = _flow_due.block;
    END LOOP;
END
$$;

--: finds jobs, kinds of pairs, steps and issues in a span of flows; first_ts, last_ts: of all flows. NICs not found
CREATE FUNCTION l4._flow_analyze_span(span bigint, first_ts timestamptz, last_ts timestamptz, seconds int, before int,
    behind int, nics inet[]) RETURNS inet[]
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'l4_flow_analyze';

--: analyzes the first span of flows that is due; false if there is none
CREATE FUNCTION l4._flow_analyze() RETURNS bool
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
    due record;
    not_found inet[];
BEGIN
    LOCK TABLE l4._flow_chunk IN SHARE ROW EXCLUSIVE MODE;
    due := l4._flow_due();
    IF due.span IS NULL THEN
        RETURN false;
    END IF;
    PERFORM l4._flow_clear(ARRAY[due.span]);
    not_found := (SELECT l4._flow_analyze_span(due.span, due.first_ts, due.last_ts, z.seconds, z.before, z.behind,
            due.nics)
                  FROM l4._flow_sizes() AS z WHERE z.size = due.span & 3);
    IF EXISTS (SELECT FROM l4._flow_stint AS s WHERE s.span = due.span) THEN
        PERFORM l4._flow_unname(due.span);
    END IF;
    UPDATE l4._flow_span AS p
    SET changed = false, first_ts = due.first_ts, last_ts = due.last_ts, endpoints = due.endpoints, nics = due.nics,
        unsure = not_found
    WHERE p.span = due.span;
    -- its block, and the next, may have to look at other NICs now
    UPDATE l4._flow_span AS p SET settled = false WHERE p.span IN (due.block, due.block + 40) AND p.settled;
    RETURN true;
END
$$;

-- Whole blocks go, with what was found in them: of those that are left all flows are there.
--: deletes flows that are older than so many seconds before the last
CREATE FUNCTION l4._flow_forget(keep_s float8) RETURNS void
LANGUAGE plpgsql VOLATILE STRICT SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    kept bigint := (SELECT least(l4._flow_open_span(0),
                        l4._flow_span_of(max(s.last_ts) - keep_s * interval '1 second', 0, 600))
                    FROM l4._flow_source AS s);
    old constant bigint[] := ARRAY(SELECT p.span FROM l4._flow_span AS p WHERE p.span < kept);
BEGIN
    LOCK TABLE l4._flow_chunk IN SHARE ROW EXCLUSIVE MODE;
    DELETE FROM l4._flow_chunk AS c
    WHERE c.last_ts < l4._flow_span_start(kept)
        - (SELECT max(z.before) FROM l4._flow_sizes() AS z) * interval '1 second';
    PERFORM l4._flow_clear(old);
    DELETE FROM l4._flow_span AS p WHERE p.span = ANY (old);
END
$$;
