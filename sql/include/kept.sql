-- Views of what ingest keeps for diagnoses alone.
CREATE VIEW kept_duration AS
SELECT s.job_id, s.node, l4._survivor(e.event_id, e.merged_into) AS event_id, u.slot, u.block, sum(u.n)::bigint AS n,
    sum(u.sum_us)::float8 / 1000 AS sum_ms
FROM l4._stream AS s JOIN l4._summary AS m USING (stream_id)
CROSS JOIN LATERAL l4._unpack(m.durations, m.open_durations)
    AS u(event_id int, slot int, block int, n bigint, sum_us bigint)
JOIN l4._event AS e ON e.event_id = u.event_id
GROUP BY 1, 2, 3, 4, 5;
CREATE VIEW kept_sequence AS
SELECT s.job_id, s.node, s.source, u.rank, u.epoch, u.iteration, u.events
FROM l4._stream AS s JOIN l4._summary AS m USING (stream_id)
CROSS JOIN LATERAL l4._unpack(m.sequences, m.open_sequences) AS u(rank int, epoch int, iteration int, events int[]);
