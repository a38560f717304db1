\set SHOW_CONTEXT never
-- The extension installs into schema l4, made by its own script, and library and catalog agree on the version.
SET client_min_messages = warning;
CREATE SCHEMA l4;
CREATE EXTENSION l4;
DROP SCHEMA l4;
DROP EXTENSION IF EXISTS l4 CASCADE;
CREATE EXTENSION l4;
SELECT extversion = l4.l4_version() AS same_version FROM pg_extension WHERE extname = 'l4';
-- every object of the extension has a comment
SELECT pg_describe_object(d.classid, d.objid, 0) AS without_comment
FROM pg_depend d
WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
  AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'l4')
  AND d.classid IN ('pg_proc'::regclass, 'pg_type'::regclass, 'pg_class'::regclass, 'pg_operator'::regclass, 'pg_namespace'::regclass)
  AND obj_description(d.objid, d.classid::regclass::name) IS NULL
  AND NOT EXISTS (SELECT FROM pg_type t WHERE d.classid = 'pg_type'::regclass AND t.oid = d.objid
                  AND (t.typcategory = 'A' OR t.typrelid <> 0))
  AND NOT EXISTS (SELECT FROM pg_class c WHERE d.classid = 'pg_class'::regclass AND c.oid = d.objid AND c.relkind NOT IN ('r', 'v', 'm', 'p'))
ORDER BY 1;
