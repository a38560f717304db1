-- The numbers that decide, each named once. l4.diagnose(options => ...) overrides them for one diagnosis, which stores
-- what it used.

--: a threshold, its default, and the range in which it may be set
CREATE TYPE l4._threshold AS (name text, value numeric, unit text, low numeric, high numeric, meaning text);

--: thresholds: how many are many, the baseline, and clocks
CREATE FUNCTION l4._thresholds_compared() RETURNS SETOF l4._threshold
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 30
BEGIN ATOMIC
    SELECT t.* FROM (VALUES
        -- how many are how many
        ('half', 0.5, 'share', 0, 1, 'of nodes or records: at least as many as the others'),
        ('majority', 0.6, 'share', 0, 1, 'of nodes: most nodes'),
        ('nearly_all', 0.8, 'share', 0, 1, 'of nodes: nearly all, so that a missing one stands out'),
        ('all_but_few', 0.9, 'share', 0, 1, 'of nodes: so many must have a line for its last time to compare them'),
        ('few_nodes', 0.05, 'share', 0, 1, 'of nodes, at least one: so many may differ in a value that drifted'),
        ('rare_share', 0.125, 'share', 0, 1, 'of nodes, at least one: a group of events on so few is unique to them'),
        ('rare_nodes', 8, 'nodes', 1, 1000000, 'a group of events on more nodes is not unique to them'),
        ('uncommon_share', 0.25, 'share', 0, 1, 'of nodes: a group of events on so few is half unique'),
        ('uncommon_nodes', 16, 'nodes', 1, 1000000, 'a group of events on more nodes is not even half unique'),
        ('gap_share', 0.25, 'share', 0, 10,
            'of the nodes that wrote, at least one: so many may be missing where no number of nodes was expected'),
        ('min_nodes', 3, 'nodes', 2, 1000000, 'fewer nodes are not compared with each other'),
        ('min_pair', 2, 'nodes or jobs', 1, 1000000, 'fewer do not confirm each other'),
        ('max_ranks', 64, 'ranks', 1, 4096, 'a node has no more ranks'),
        ('block_ratio', 2, 'times', 1, 1000, 'a node has fewer ranks than so many times the least that it can have'),
        ('alike_words', 5, 'words', 1, 1000, 'shorter lines are not near-duplicates of each other'),
        ('max_reports', 40, 'events', 1, 100000, 'crash reports and stacks of a node whose functions are read'),
        ('warning_level', 3, 'level', 1, 5, 'from this level on a line says that something may be wrong'),
        ('error_level', 4, 'level', 1, 5, 'from this level on a line says that something is wrong'),
        -- baseline
        ('max_baseline', 50, 'jobs', 1, 1000000, 'so many of the latest good jobs of the settings are the baseline'),
        ('max_elsewhere', 100, 'jobs', 0, 1000000,
            'so many of the latest good jobs of other settings tell what is harmless'),
        ('min_baseline', 3, 'jobs', 0, 1000000, 'with fewer good jobs the job''s own past serves as well'),
        ('word_jobs', 8, 'jobs', 1, 1000000, 'good jobs whose words in a line are read'),
        ('value_jobs', 5, 'jobs', 1, 1000000, 'baseline jobs whose values in a line are read'),
        ('reached', 0.95, 'share', 0, 1, 'of the iterations announced, less one: a good job did so many'),
        -- clocks
        ('min_clock', 0.1, 's', 0, 1000000, 'a clock is off by that much, where iterations tell'),
        ('min_line_clock', 0.5, 's', 0, 1000000, 'a clock is off by that much, where lines that all nodes print tell'),
        ('min_log_clock', 5, 's', 0, 1000000, 'a clock is off by that much, where only the ends of the logs tell'),
        ('clock_spread', 0.2, 'share', 0, 1, 'of the shift: the median deviation from it is at most that'),
        ('clock_agreement', 0.8, 'share', 0.01, 1,
            'two measures of a shift agree when one is at least that much of the other'),
        ('clock_likeness', 0.5, 'share', 0.01, 1,
            'a shift of the first lines supports that of the iterations when one is that much of the other'),
        ('min_shared_lines', 5, 'events', 1, 1000000, 'so many lines that all nodes print make a median')
    ) AS t(name, value, unit, low, high, meaning);
END;

--: thresholds: slowness, hangs, and what belongs together in time
CREATE FUNCTION l4._thresholds_progress() RETURNS SETOF l4._threshold
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 30
BEGIN ATOMIC
    SELECT t.* FROM (VALUES
        -- progress
        ('min_iterations', 3, 'iterations', 1, 1000000, 'so many iterations show that training went on'),
        ('min_past', 10, 'iterations', 1, 1000000, 'so many iterations show what is normal'),
        ('still_iterations', 2, 'iterations', 0, 1000000, 'a job stands still after the time of so many'),
        ('counter_share', 0.5, 'share', 0, 1,
            'of the time of a log: a number that counts iterations does so for so long'),
        ('steady_ratio', 2, 'times', 1, 1000,
            'the mean time between numbers that count iterations is at most so many times the median'),
        ('max_ahead', 3, 'iterations', 1, 1000000, 'a line tells the iteration in flight if it is so close to the '
            'last one done'),
        ('normal_part', 0.25, 'share', 0, 1,
            'of the iterations, the first ones: their median is the normal duration, if that of all is not less'),
        ('late_part', 0.2, 'share', 0, 1, 'of the iterations, the last ones: what most of them take has stayed'),
        ('last_part', 0.1, 'share', 0, 1, 'of a job''s time or start-up: what nobody prints before is of its end'),
        ('slow_ratio', 3, 'times normal', 1, 1000000, 'an iteration is slow above this many times the normal duration'),
        ('raised_ratio', 1.5, 'times normal', 1, 1000000,
            'the least that an iteration takes of a job that turns slow gradually'),
        ('slow_window', 4, 'iterations', 1, 1000,
            'a slow iteration with another one so soon after it begins a slow job'),
        ('slow_excess', 0.5, 'times normal', 0, 1000000,
            'a job is slow when its iterations take so much more than normal on average'),
        ('max_excess', 10, 'times normal', 0, 1000000, 'one iteration counts at most that much to the average'),
        ('stayed_ratio', 2, 'times normal', 1, 1000000, 'what the last iterations take, for a job that stays slow'),
        ('stayed_quantile', 0.25, 'quantile', 0, 1,
            'of the last iterations'' durations: what three quarters of them take at least'),
        ('max_overlap', 2, 'times', 1, 1000000,
            'iterations that took so much longer than all lines span have no times of their own'),
        ('noise_weight', 0.5, 'factor', 0, 1,
            'the part of an excess that counts where iterations are not slow one by one'),
        -- time
        ('same_moment', 1, 's', 0, 1000000, 'what happens so close together belongs together'),
        ('first_moment', 0.01, 's', 0, 1000000, 'events so soon after the first one are first as well'),
        ('routine_lead', 0.05, 's', 0, 1000000,
            'lines below a warning that come so long before the trouble are routine'),
        ('along_parts', 3, 'parts', 2, 1000, 'of the time before the trouble: a line that came in each came all along'),
        ('along_records', 100, 'records', 1, 1000000, 'so many, of the nodes that have the most, tell whether it did'),
        ('late_seconds', 2, 's', 0, 1000000,
            'what a node shows this long after the first crash report counts a quarter'),
        ('flush_seconds', 2, 's', 0, 1000000,
            'iterations reported so shortly before the end, after a silence, were written by buffers'),
        ('min_stall', 2, 's', 0, 1000000, 'a shorter stall does not show who is silent'),
        ('retry_seconds', 10, 's', 0, 1000000,
            'what fails this long after the first crash report is an attempt to begin anew'),
        ('known_lead', 5, 's', 0, 1000000, 'a known event counts so long before its node''s failure'),
        ('known_repeats', 3, 'records', 1, 1000000, 'so many records of a known event count in a slow job'),
        ('beside_lines', 4, 'lines', 0, 1000, 'lines of one report lie so close together'),
        ('hang_seconds', 5, 's', 0, 1000000,
            'a job hangs when nothing progresses for longer, and for longer than the next two'),
        ('hang_iterations', 20, 'iterations', 0, 1000000, 'silence of that many iterations'),
        ('hang_reports', 4, 'reports', 0, 1000000,
            'silence of that many lines about iterations that are printed every so often'),
        ('silent_seconds', 46800, 's', 0, 1000000000,
            'silence until now after which a job stands that is not known to have ended: more than a time zone'),
        ('unexplained_patience', 2, 'factor', 1, 1000, 'so much longer where crash reports do not speak of waiting')
    ) AS t(name, value, unit, low, high, meaning);
END;

--: thresholds: what evidence is worth, and which answer it makes
CREATE FUNCTION l4._thresholds_evidence() RETURNS SETOF l4._threshold
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 30
BEGIN ATOMIC
    SELECT t.* FROM (VALUES
        -- evidence
        ('weak', 0.5, 'factor', 0, 1, 'what speaks half as much'),
        ('faint', 0.25, 'factor', 0, 1, 'what speaks a quarter as much'),
        ('absent_value', 2, 'value', 0, 1000, 'a node that never wrote, of a job that did not start'),
        ('victim_weight', 0.1, 'weight', 0, 1, 'of a complaint about a node that fails like others'),
        ('min_blame', 1.5, 'weight', 0.01, 1000, 'less blame in all is not divided up completely'),
        ('max_edges', 8, 'nodes', 1, 1000, 'so many nodes that one node names are followed'),
        ('max_complaints', 64, 'complaints', 1, 100000, 'so many, the first ones, tell how addresses count up'),
        ('misfit_votes', 2, 'votes', 0, 1000,
            'against an assignment of addresses under which a node is named that goes on'),
        ('self_votes', 3, 'votes', 0, 1000, 'against an assignment of addresses under which a node names itself'),
        ('break_value', 0.6, 'value', 0, 1, 'of the side of the ring that breaks'),
        ('end_value', 0.4, 'value', 0, 1, 'of the other side, where the two runs of waiting ranks end'),
        ('break_bonus', 0.05, 'value', 0, 1, 'of the node that waits first, of the two at the break'),
        ('step_sigmas', 5, 'deviations', 0.01, 1000, 'a step that takes so many longer has value 1'),
        ('step_cap', 3, 'value', 0, 1000, 'the most that a long step counts'),
        ('mad_sigma', 1.5, 'times the median deviation', 0.01, 100, 'is a standard deviation'),
        ('min_spread', 0.1, 'share', 0.0001, 10, 'of the median, or of an iteration: less may be chance'),
        ('late_mads', 3, 'times the median deviation', 0, 1000, 'a node that reports later by more is late'),
        ('forest_score', 0.5, 'score', 0, 1, 'a node is set apart above this score of the isolation forest'),
        ('forest_share', 0.9, 'share', 0, 1, 'of the best score of the isolation forest (method paper)'),
        -- answer
        ('three_sigma', 3, 'deviations', 0.01, 1000, 'an iteration deviates in its events beyond'),
        ('mention_score', 0.5, 'score', 0, 1000000, 'a node that is not accused is mentioned from this score on'),
        ('suspect_score', 1, 'score', 0, 1000000, 'a node is accused from this score on'),
        ('suspect_share', 0.5, 'share', 0, 1000000, 'of the best score: a node is accused if it has that as well'),
        ('likely_score', 2, 'score', 0, 1000000, 'the first suspect is likely the failed node from this score on'),
        ('certain_score', 3, 'score', 0, 1000000, 'it is certain from this score on'),
        ('certain_ratio', 2, 'times', 1, 1000000, 'the score of the next node, if it has that as well')
    ) AS t(name, value, unit, low, high, meaning);
END;

--: the numbers that decide in l4.diagnose(): what its argument options may override, and in which range
CREATE FUNCTION l4.diagnose_thresholds()
RETURNS TABLE (name text, value numeric, unit text, low numeric, high numeric, meaning text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 90
BEGIN ATOMIC
    SELECT t.* FROM l4._thresholds_compared() AS t
    UNION ALL SELECT t.* FROM l4._thresholds_progress() AS t
    UNION ALL SELECT t.* FROM l4._thresholds_evidence() AS t;
END;

-- One row of all thresholds, a column each, so that a name that does not exist is an error when a function is created.
DO $$
BEGIN
    EXECUTE (
        SELECT format('CREATE TYPE l4._thresholds AS (%s)',
            string_agg(format('%I numeric', t.name), ', ' ORDER BY t.name))
        FROM l4.diagnose_thresholds() AS t);
END;
$$;
COMMENT ON TYPE l4._thresholds IS 'l4.diagnose_thresholds() as columns';

--: thresholds and weights of l4.diagnose(): what its argument options may override
CREATE FUNCTION l4.diagnose_defaults() RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT jsonb_object_agg(t.name, t.value) || '{
        "elsewhere": true, "as_of": null,
        "weights": {"accused": 2, "unique": 2, "exit": 2, "silent": 2, "step_time": 2, "late": 2, "lag": 1, "edge": 1,
            "drift": 8, "network": 2}}'
    FROM l4.diagnose_thresholds() AS t;
END;

-- The options given, completed and checked.
--: options of l4.diagnose(), checked and completed by the defaults
CREATE FUNCTION l4._diagnose_parameters(options jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    defaults constant jsonb := l4.diagnose_defaults();
    weights constant jsonb := coalesce(options -> 'weights', '{}');
    bad record;
BEGIN
    IF jsonb_typeof(options) <> 'object' OR jsonb_typeof(weights) <> 'object' THEN
        RAISE EXCEPTION 'options and options.weights must be objects' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    FOR bad IN
        SELECT o.key, t.low, t.high, o.weight,
            CASE WHEN o.weight THEN defaults -> 'weights' ? o.key ELSE defaults ? o.key END AS known,
            CASE WHEN jsonb_typeof(o.value) = 'number' THEN o.value::numeric BETWEEN t.low AND t.high
                WHEN t.name IS NOT NULL THEN false
                WHEN o.key = 'elsewhere' THEN jsonb_typeof(o.value) = 'boolean'
                ELSE true END AS fits
        FROM (
            SELECT a.key, a.value, false AS weight FROM jsonb_each(options) AS a
            UNION ALL SELECT w.key, w.value, true FROM jsonb_each(weights) AS w) AS o
        LEFT JOIN (
            SELECT z.name, z.low, z.high, false AS weight FROM l4.diagnose_thresholds() AS z
            UNION ALL SELECT w.key, 0, 1000000, true FROM jsonb_object_keys(defaults -> 'weights') AS w(key)) AS t
            ON t.name = o.key AND t.weight = o.weight
        ORDER BY o.key COLLATE "C"
    LOOP
        IF NOT bad.known THEN
            RAISE EXCEPTION 'unknown option "%"', CASE WHEN bad.weight THEN 'weights.' ELSE '' END || bad.key
                USING ERRCODE = 'invalid_parameter_value', HINT = coalesce(
                    'Did you mean "' || l4._near_name(bad.key, ARRAY(
                        SELECT jsonb_object_keys(CASE WHEN bad.weight THEN defaults -> 'weights' ELSE defaults END)))
                    || '"?', 'l4.diagnose_defaults() has them all.');
        ELSIF NOT coalesce(bad.fits, false) AND bad.low IS NULL THEN
            RAISE EXCEPTION 'option "%" must be true or false', bad.key USING ERRCODE = 'invalid_parameter_value';
        ELSIF NOT coalesce(bad.fits, false) THEN
            RAISE EXCEPTION 'option "%" must be a number between % and %',
                CASE WHEN bad.weight THEN 'weights.' ELSE '' END || bad.key, bad.low, bad.high
                USING ERRCODE = 'invalid_parameter_value';
        END IF;
    END LOOP;
    RETURN defaults || options || jsonb_build_object('weights', defaults -> 'weights' || weights);
END;
$$;

--: a threshold in seconds as an interval
CREATE FUNCTION l4._seconds(seconds numeric) RETURNS interval
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN seconds::float8 * interval '1 second';
