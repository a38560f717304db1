-- make score CORPUS=folder: loads the folder, ingests and diagnoses it, and prints how good that is.
--   psql -v dir=folder [-v arguments=", baseline => '{}'"] -f test/score/corpus.sql
--   -v status= : while the row of each job says how it ended, as of a job that is loaded afterwards; else it says "running"
--   -v leave_out=megatron,pytorch: without the rules and faults of these frameworks
--   (no baseline; ", baseline => corpus.good_job($1, 1)" compares each job with one good one of its settings)
-- As superuser, in a database of its own; the server's user must be able to read the folder.
\if :{?arguments}
\else
  \set arguments ''
\endif
\if :{?status}
\else
  \set status running
\endif
\if :{?leave_out}
\else
  \set leave_out ''
\endif
\o /dev/null
\ir corpus_load.sql
\o
\ir corpus_diagnose.sql
\ir corpus_score.sql
