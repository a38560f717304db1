-- Servers side by side, each with an l4 of its own. This database keeps the directory: which servers there are, and
-- which job is where. Nothing polls: what is written here was asked for by a call.

--: the servers of the directory; add_server() and drop_server() write it
CREATE TABLE l4.server (
    name text PRIMARY KEY,             --: name of the server and of its foreign server, up to 40 bytes
    here bool NOT NULL DEFAULT false,  --: it is this database
    active bool NOT NULL DEFAULT true, --: it is asked; see use_server()
    rules text,                        --: digest of its own rules when they were last the same as here
    added_at timestamptz NOT NULL DEFAULT pg_catalog.now(), --: when it was added
    CONSTRAINT server_name_check CHECK (pg_catalog.octet_length(name) OPERATOR(pg_catalog.>) 0
        AND pg_catalog.octet_length(name) OPERATOR(pg_catalog.<=) 40)
);
CREATE UNIQUE INDEX server_here_idx ON l4.server (here) WHERE here;

--: which job is where, by place() and as ingest_servers() found it
CREATE TABLE l4.job_server (
    job_id text NOT NULL,
    server text NOT NULL,  --: a server that has lines of it, or that it was placed on
    placed_at timestamptz, --: when place() chose the server; NULL = its lines were found there
    lines bigint,          --: lines read there when the server was last asked; NULL = none so far
    CONSTRAINT job_server_pkey PRIMARY KEY (job_id, server),
    CONSTRAINT job_server_server_fkey FOREIGN KEY (server) REFERENCES l4.server ON DELETE CASCADE
);
CREATE INDEX job_server_server_idx ON l4.job_server (server);
CREATE UNIQUE INDEX job_server_placed_idx ON l4.job_server (job_id) WHERE placed_at IS NOT NULL;

-- Foreign tables of the servers inherit from these, so that a condition goes to the servers and all answer at once.
--: the foreign tables of a server
CREATE FUNCTION l4._server_tables(name text) RETURNS TABLE (kind text, child text, parent text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 4
BEGIN ATOMIC
    SELECT k.kind, format('l4.%I', '_fleet_' || k.kind || '@' || _server_tables.name), 'l4._fleet_' || k.kind
    FROM unnest(ARRAY['diagnosis', 'suspect_node', 'fault_match', 'fault_trend']) AS k(kind);
END;

DO $$
DECLARE
    t record;
BEGIN
    FOR t IN SELECT * FROM l4._server_tables('') LOOP
        EXECUTE pg_catalog.format('CREATE TABLE %s (LIKE l4.%s)', t.parent, t.kind);
        EXECUTE pg_catalog.format('COMMENT ON TABLE %s IS %L', t.parent,
            pg_catalog.format('l4.%s of all other servers; empty itself', t.kind));
        EXECUTE pg_catalog.format(
            'CREATE VIEW l4.fleet_%1$s AS SELECT (SELECT s.name FROM l4.server s WHERE s.here) AS server, h.* '
            'FROM l4.%1$s h UNION ALL SELECT s.srvname, f.* FROM l4._fleet_%1$s f '
            'JOIN pg_catalog.pg_foreign_table t ON t.ftrelid OPERATOR(pg_catalog.=) f.tableoid '
            'JOIN pg_catalog.pg_foreign_server s ON s.oid OPERATOR(pg_catalog.=) t.ftserver', t.kind);
        EXECUTE pg_catalog.format('COMMENT ON VIEW l4.fleet_%s IS %L', t.kind,
            pg_catalog.format('l4.%s of all servers; an error names the one that does not answer', t.kind));
        EXECUTE pg_catalog.format('COMMENT ON COLUMN l4.fleet_%s.server IS %L', t.kind,
            'the server; NULL = this database, where it is none of them');
    END LOOP;
END
$$;
