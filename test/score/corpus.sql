-- make score CORPUS=folder: loads the folder, ingests and diagnoses it, and prints how good that is.
--   psql -v dir=folder [-v arguments=", baseline => '{}'"] -f test/score/corpus.sql
-- As superuser, in a database of its own; the server's user must be able to read the folder.
\if :{?arguments}
\else
  \set arguments ''
\endif
\o /dev/null
\ir corpus_load.sql
\o
\ir corpus_diagnose.sql
\ir corpus_score.sql
