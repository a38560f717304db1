-- Faults recognised by several events together: the rows of fault_condition.

CREATE FUNCTION l4._condition_events(job_id text)
RETURNS TABLE (fault_id int, step int, event_ids int[], gave_up int[])
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 100
BEGIN ATOMIC
	SELECT s.fault_id, s.step, pg_catalog.array_agg(s.event_id) FILTER (WHERE s.yes), pg_catalog.array_agg(s.event_id) FILTER (WHERE NOT s.yes)
	FROM (SELECT c.fault_id, c.step, l.event_id, COALESCE(pg_catalog.bool_or(m.yes), false) AS yes
		FROM l4.active_fault AS f
		JOIN l4.fault_condition AS c ON c.fault_id OPERATOR(pg_catalog.=) f.fault_id
		CROSS JOIN l4._fault_lines(_condition_events.job_id) AS l
		CROSS JOIN LATERAL (
			SELECT CASE WHEN c.signature IS NOT NULL THEN l4.pcre_match(l.line, c.signature)
				ELSE EXISTS (SELECT FROM l4._event AS e WHERE e.event_id OPERATOR(pg_catalog.=) l.event_id
							 AND (e.template OPERATOR(pg_catalog.=) c.template
								  OR l4.pcre_match(e.example, l4._template_pattern(c.template)::l4.pcre))) END AS yes) AS m
		WHERE f.combined AND m.yes IS NOT FALSE
		GROUP BY c.fault_id, c.step, l.event_id) AS s
	GROUP BY s.fault_id, s.step;
END;
COMMENT ON FUNCTION l4._condition_events(text) IS 'which events of the job each step of a combined fault speaks of';

CREATE FUNCTION l4._event_times(job_id text, event_ids int[])
RETURNS TABLE (node text, ts timestamptz)
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 1000
BEGIN ATOMIC
	SELECT t.node, t.ts
	FROM pg_catalog.unnest(_event_times.event_ids) AS e(event_id)
	CROSS JOIN LATERAL l4.event_lines(_event_times.job_id, e.event_id) AS t
	WHERE t.line_no OPERATOR(pg_catalog.=) t.record_line_no AND t.ts IS NOT NULL;
END;
COMMENT ON FUNCTION l4._event_times(text, int[]) IS 'node and time of every record of some events';

CREATE FUNCTION l4._silent_nodes(job_id text, event_ids int[], silence interval) RETURNS text[]
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
	SELECT pg_catalog.array_agg(DISTINCT g.node ORDER BY g.node)
	FROM (SELECT t.node, COALESCE(pg_catalog.lead(t.ts) OVER (PARTITION BY t.node ORDER BY t.ts), e.ts) OPERATOR(pg_catalog.-) t.ts AS gap
		FROM l4._event_times(_silent_nodes.job_id, _silent_nodes.event_ids) AS t
		CROSS JOIN (SELECT pg_catalog.max(n.last_ts) AS ts FROM l4._node AS n
					WHERE n.job_id OPERATOR(pg_catalog.=) _silent_nodes.job_id) AS e) AS g
	WHERE g.gap OPERATOR(pg_catalog.>=) _silent_nodes.silence);
COMMENT ON FUNCTION l4._silent_nodes(text, int[], interval) IS 'nodes on which some events stop for at least that long, at the latest by the end of the job''s log';

-- One fault: goes through its steps, keeping the nodes on which all steps so far hold (same_node) and the times of the last
-- event step that a following step may refer to. NULL when a step does not hold.
CREATE FUNCTION l4._combination_nodes(job_id text, fault_id int, steps jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	c l4.fault_condition;
	events int[];
	held text[];
	candidates text[];
	at_nodes text[];
	at_times timestamptz[];
	proof jsonb := '{}';
	first_min int;
	first_max int;
BEGIN
	FOR c IN SELECT * FROM l4.fault_condition f WHERE f.fault_id = _combination_nodes.fault_id ORDER BY f.step LOOP
		SELECT array_agg(e.id::int) INTO events FROM jsonb_array_elements_text(steps -> c.step::text) AS e(id);
		held := '{}';
		IF events IS NOT NULL AND c.kind = 'silence' THEN
			held := coalesce(l4._silent_nodes(_combination_nodes.job_id, events, c.silence), '{}');
		ELSIF events IS NOT NULL AND c.within IS NOT NULL THEN
			-- the latest time of the step before that is not after this one decides
			SELECT array_agg(q.node), array_agg(q.ts) INTO at_nodes, at_times
			FROM (SELECT u.node, u.ts, u.own, max(u.ts) FILTER (WHERE NOT u.own)
					OVER (PARTITION BY CASE WHEN c.same_node THEN u.node END ORDER BY u.ts, u.own ROWS UNBOUNDED PRECEDING) AS before
				FROM (SELECT t.node, t.ts, true AS own FROM l4._event_times(_combination_nodes.job_id, events) AS t
					UNION ALL SELECT p.node, p.ts, false FROM unnest(at_nodes, at_times) AS p(node, ts)) AS u) AS q
			WHERE q.own AND q.ts - q.before <= c.within;
			SELECT coalesce(array_agg(n.node), '{}') INTO held
			FROM (SELECT p.node FROM unnest(at_nodes) AS p(node) GROUP BY p.node HAVING count(*) >= c.min_occurrences) AS n;
		ELSIF events IS NOT NULL THEN
			SELECT coalesce(array_agg(n.node), '{}') INTO held
			FROM (SELECT k.node FROM l4.event_count k WHERE k.job_id = _combination_nodes.job_id AND k.event_id = ANY (events)
				GROUP BY k.node HAVING sum(k.occurrences) >= c.min_occurrences) AS n;
			IF EXISTS (SELECT FROM l4.fault_condition f WHERE f.fault_id = c.fault_id AND f.step > c.step AND f.within IS NOT NULL) THEN
				SELECT array_agg(t.node), array_agg(t.ts) INTO at_nodes, at_times FROM l4._event_times(_combination_nodes.job_id, events) AS t;
			END IF;
		END IF;
		IF c.step = 1 OR candidates IS NULL THEN
			candidates := held;
			first_min := c.min_nodes;
			first_max := c.max_nodes;
		ELSIF c.same_node THEN
			SELECT coalesce(array_agg(n.node), '{}') INTO candidates FROM unnest(candidates) AS n(node)
			WHERE (n.node = ANY (held)) = (c.kind <> 'absent');
		ELSIF c.kind = 'absent' THEN
			IF held <> '{}' THEN
				RETURN NULL;
			END IF;
		ELSIF cardinality(held) < c.min_nodes OR cardinality(held) > c.max_nodes THEN
			RETURN NULL;
		END IF;
		IF cardinality(candidates) < first_min OR cardinality(candidates) > first_max THEN
			RETURN NULL;
		END IF;
		proof := proof || jsonb_build_object(c.step, (SELECT coalesce(jsonb_agg(n.node ORDER BY n.node), '[]')
			FROM (SELECT n.node FROM unnest(held) AS n(node) ORDER BY 1 LIMIT 16) AS n));
	END LOOP;
	RETURN jsonb_build_object('nodes', to_jsonb(candidates), 'steps', proof);
END
$$;
COMMENT ON FUNCTION l4._combination_nodes(text, int, jsonb) IS 'nodes on which a combined fault holds and those of each step; NULL when it does not';

CREATE FUNCTION l4._fault_combinations(job_id text)
RETURNS TABLE (fault_id int, event_id int, node text, source text, line_no bigint, line text, ts timestamptz, occurrences bigint,
	captures jsonb, gave_up bool)
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 10
BEGIN ATOMIC
	WITH step AS MATERIALIZED (
		SELECT s.* FROM l4._condition_events(_fault_combinations.job_id) AS s
	), fault AS MATERIALIZED (
		-- a step that is wanted and has no event decides without reading times
		SELECT s.fault_id, pg_catalog.jsonb_object_agg(s.step, pg_catalog.to_jsonb(s.event_ids)) AS steps
		FROM step AS s
		WHERE NOT EXISTS (SELECT FROM l4.fault_condition AS c
						  WHERE c.fault_id OPERATOR(pg_catalog.=) s.fault_id AND c.kind OPERATOR(pg_catalog.<>) 'absent'
							AND NOT EXISTS (SELECT FROM step AS t WHERE t.fault_id OPERATOR(pg_catalog.=) c.fault_id
											AND t.step OPERATOR(pg_catalog.=) c.step AND t.event_ids IS NOT NULL))
		GROUP BY s.fault_id
	), held AS MATERIALIZED (
		SELECT f.fault_id, f.steps, l4._combination_nodes(_fault_combinations.job_id, f.fault_id, f.steps) AS found FROM fault AS f
	)
	SELECT h.fault_id, p.*, h.found OPERATOR(pg_catalog.->) 'steps', false
	FROM held AS h
	CROSS JOIN LATERAL (
		SELECT k.event_id, k.node, l.source, k.first_line_no, l.line, k.first_ts, k.occurrences
		FROM l4.event_count AS k
		JOIN l4._fault_lines(_fault_combinations.job_id) AS l ON l.event_id OPERATOR(pg_catalog.=) k.event_id
		WHERE k.job_id OPERATOR(pg_catalog.=) _fault_combinations.job_id
		  AND h.steps OPERATOR(pg_catalog.->) '1' OPERATOR(pg_catalog.@>) pg_catalog.to_jsonb(k.event_id)
		  AND h.found OPERATOR(pg_catalog.->) 'nodes' OPERATOR(pg_catalog.?) k.node
		ORDER BY k.first_ts, k.node, k.event_id, l.line_no LIMIT 1) AS p
	WHERE h.found IS NOT NULL
	UNION ALL
	SELECT s.fault_id, l.event_id, l.node, l.source, l.line_no, l.line, l.ts, l.occurrences, NULL, true
	FROM step AS s CROSS JOIN LATERAL pg_catalog.unnest(s.gave_up) AS g(event_id)
	JOIN l4._fault_lines(_fault_combinations.job_id) AS l ON l.event_id OPERATOR(pg_catalog.=) g.event_id;
END;
COMMENT ON FUNCTION l4._fault_combinations(text) IS 'combined faults that hold in a job; node and line are those of step 1';
