# l4: PostgreSQL extension, built by PGXS. "make help" lists what can be made.
EXTENSION = l4
EXTVERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" '$(dir $(firstword $(MAKEFILE_LIST)))l4.control')
MODULE_big = l4

OBJS = \
	src/base/args.o \
	src/base/bytes.o \
	src/base/compress.o \
	src/base/expanded.o \
	src/base/foldmemo.o \
	src/base/names.o \
	src/base/near_sql.o \
	src/base/seen.o \
	src/diagnose/diag_blame.o \
	src/diagnose/diag_counter.o \
	src/diagnose/diag_frame_owner.o \
	src/diagnose/diag_frames.o \
	src/diagnose/diag_iter.o \
	src/diagnose/diag_pack_sql.o \
	src/diagnose/diag_periodic.o \
	src/diagnose/diag_sequence.o \
	src/diagnose/diag_sql.o \
	src/drain/drain.o \
	src/drain/drain_io.o \
	src/drain/drain_store.o \
	src/drain/drain_text.o \
	src/dtw/dtw.o \
	src/dtw/dtw_sql.o \
	src/evector/evector.o \
	src/evector/evector_agg.o \
	src/evector/evector_sql.o \
	src/flow/blame.o \
	src/flow/change_points.o \
	src/flow/cluster.o \
	src/flow/components.o \
	src/flow/divide.o \
	src/flow/features.o \
	src/flow/flow_chunk.o \
	src/flow/flow_merge.o \
	src/flow/flow_read.o \
	src/flow/flow_sql.o \
	src/flow/issues.o \
	src/flow/jobs.o \
	src/flow/load.o \
	src/flow/ranks.o \
	src/flow/spurs.o \
	src/flow/steps.o \
	src/flow/store.o \
	src/flow/timeline.o \
	src/iforest/iforest.o \
	src/iforest/iforest_agg.o \
	src/iforest/iforest_build.o \
	src/iforest/iforest_score.o \
	src/iforest/iforest_sql.o \
	src/ingest/batch.o \
	src/ingest/batch_scan.o \
	src/ingest/ingest_budget.o \
	src/ingest/ingest_dict.o \
	src/ingest/ingest_learn.o \
	src/ingest/ingest_pack.o \
	src/ingest/ingest_params.o \
	src/ingest/ingest_parse.o \
	src/ingest/ingest_query.o \
	src/ingest/ingest_scan.o \
	src/ingest/ingest_shape.o \
	src/ingest/ingest_sql.o \
	src/ingest/ingest_store.o \
	src/ingest/ingest_stored.o \
	src/ingest/job_counts.o \
	src/ingest/pack_iterations.o \
	src/ingest/pack_state.o \
	src/ingest/piece_reader.o \
	src/ingest/scan_result.o \
	src/ingest/scan_state.o \
	src/ingest/stream_counts.o \
	src/ingest/write_set.o \
	src/lines/iterrule.o \
	src/lines/level.o \
	src/lines/lineformat.o \
	src/lines/linekind.o \
	src/lines/lines_sql.o \
	src/lines/prefixmemo.o \
	src/lines/record.o \
	src/lines/record_join.o \
	src/lines/record_state.o \
	src/lines/rules.o \
	src/lines/streamprefix.o \
	src/lines/structured.o \
	src/lines/terminal.o \
	src/lines/timestamps.o \
	src/miner/cluster_stat.o \
	src/miner/coarse.o \
	src/miner/forget.o \
	src/miner/intern.o \
	src/miner/merge.o \
	src/miner/miner.o \
	src/miner/model.o \
	src/miner/node.o \
	src/miner/parser.o \
	src/miner/parser_agg.o \
	src/miner/parser_io.o \
	src/miner/parser_options.o \
	src/miner/parser_params.o \
	src/miner/parser_sql.o \
	src/miner/parser_write.o \
	src/miner/replay.o \
	src/miner/train.o \
	src/packed/group.o \
	src/packed/packed.o \
	src/packed/packed_plan.o \
	src/packed/packed_read.o \
	src/packed/packed_sql.o \
	src/packed/packed_window.o \
	src/packed/packed_write.o \
	src/packed/slot_values.o \
	src/packed/slot_values_sql.o \
	src/pcre/lazydfa.o \
	src/pcre/multimatch.o \
	src/pcre/multimatch_sql.o \
	src/pcre/pcre.o \
	src/pcre/pcre_cache.o \
	src/pcre/pcre_sql.o \
	src/pcre/regexchar.o \
	src/pcre/regexnfa.o \
	src/pcre/regextree.o \
	src/pcre/regexwindow.o \
	src/scan/mask.o \
	src/scan/scan.o \
	src/scan/scan_net.o \
	src/scan/scan_num.o \
	src/scan/scan_parts.o \
	src/scan/scan_rec.o \
	src/scan/scan_time.o \
	src/scan/scanmemo.o \
	src/travel/renumber.o \
	src/travel/renumber_sql.o \
	src/travel/travel_learn.o \
	src/travel/travel_rows.o \
	src/travel/travel_sql.o \
	src/l4.o

# The install script is these fragments, in this order.
FRAGMENTS = \
	sql/install/00_header.sql \
	sql/install/10_pcre.sql \
	sql/install/20_parser.sql \
	sql/install/30_evector.sql \
	sql/install/40_iforest.sql \
	sql/install/50_dtw.sql \
	sql/install/60_tables.sql \
	sql/install/65_rules.sql \
	sql/install/70_ingest.sql \
	sql/install/71_ingest_run.sql \
	sql/install/72_views.sql \
	sql/install/73_forget_templates.sql \
	sql/install/73_mentions.sql \
	sql/install/74_packs.sql \
	sql/install/74_windows.sql \
	sql/install/75_compare.sql \
	sql/install/80_marker_rules.sql \
	sql/install/81_thresholds.sql \
	sql/install/81_diagnosis_tables.sql \
	sql/install/82_case_rules.sql \
	sql/install/82_case_values.sql \
	sql/install/82_case_attempts.sql \
	sql/install/82_case_nodes.sql \
	sql/install/82_case_counter.sql \
	sql/install/82_case_epochs.sql \
	sql/install/82_case_progress.sql \
	sql/install/82_case_limits.sql \
	sql/install/82_case_events.sql \
	sql/install/82_case_frames.sql \
	sql/install/82_case_drop.sql \
	sql/install/82_case_symptom.sql \
	sql/install/83_evidence.sql \
	sql/install/83_evidence_values.sql \
	sql/install/83_evidence_roles.sql \
	sql/install/83_accusation.sql \
	sql/install/83_evidence_forest.sql \
	sql/install/83_evidence_network.sql \
	sql/install/84_diagnose_state.sql \
	sql/install/84_diagnose.sql \
	sql/install/84_diagnose_where.sql \
	sql/install/84_diagnose_iterations.sql \
	sql/install/84_diagnose_paper.sql \
	sql/install/84_diagnose_main.sql \
	sql/install/85_fault_tables.sql \
	sql/install/86_fault_lines.sql \
	sql/install/86_fault_watch.sql \
	sql/install/86_fault_combine.sql \
	sql/install/86_fault_match.sql \
	sql/install/86_fault_propose.sql \
	sql/install/86_fault_cause.sql \
	sql/install/86_fault_memory.sql \
	sql/install/86_fault_share.sql \
	sql/install/87_rows.sql \
	sql/install/88_fault_guard.sql \
	sql/install/89_alert.sql \
	sql/install/90_report_common.sql \
	sql/install/91_report.sql \
	sql/install/92_report_svg.sql \
	sql/install/93_report_charts.sql \
	sql/install/94_report_html.sql \
	sql/install/94_flow_read.sql \
	sql/install/94_flow_tables.sql \
	sql/install/94_flow_spans.sql \
	sql/install/94_flow_toolkit.sql \
	sql/install/94_flow_logs.sql \
	sql/install/94_flow_picture.sql \
	sql/install/94_flow_report.sql \
	sql/install/94_travel.sql \
	sql/install/94_travel_import.sql \
	sql/install/94_server_tables.sql \
	sql/install/94_server_calls.sql \
	sql/install/94_server_directory.sql \
	sql/install/94_server_jobs.sql \
	sql/install/95_comments.sql \
	sql/install/95_rights.sql

# Shipped rules and faults: sql/data/rows.pl makes sql/install/87_rows.sql of these.
DATA_FILES = \
	sql/data/fragments.json \
	sql/data/line_format.json \
	sql/data/stage_rule.json \
	sql/data/iteration_rule.json \
	sql/data/marker_rule.json \
	sql/data/faults/combined.json \
	sql/data/faults/framework.json \
	sql/data/faults/hardware_accelerator.json \
	sql/data/faults/hardware_gpu.json \
	sql/data/faults/hardware_network.json \
	sql/data/faults/hardware_node.json \
	sql/data/faults/hardware_storage.json \
	sql/data/faults/platform.json \
	sql/data/faults/platform_scheduler.json \
	sql/data/faults/user_configuration.json \
	sql/data/faults/user_data.json \
	sql/data/faults/user_parallel.json \
	sql/data/faults/user_program.json \
	sql/data/faults/user_python.json \
	sql/data/faults/user_software.json

DATA_built = sql/l4--$(EXTVERSION).sql
SCRIPTS = src/l4load

REGRESS = \
	extension \
	fault \
	fault_shipped \
	compare \
	counter \
	diagnose_parts \
	dtw \
	evector \
	iforest \
	parser \
	parser_errors \
	parser_mask \
	parser_memo \
	leader \
	lineformat \
	pcre \
	record \
	stack_frames \
	rules \
	mask_rule \
	iteration_count \
	pcre_many \
	drain \
	views \
	names \
	windows \
	ingest \
	ingest_workers \
	ingest_turns \
	first_record \
	open_records \
	cuts \
	reentry \
	ingest_edges \
	stream_prefix \
	event_words \
	packed \
	read_again \
	bad_input \
	damaged \
	pipeline \
	privileges \
	travel \
	report \
	sources \
	source_kinds \
	fault_match \
	fault_form \
	fault_learn \
	packs \
	diagnose_jobs \
	diagnose_ranks \
	evidence \
	thresholds \
	unknown_trainer \
	log_files \
	attempts \
	first_job \
	launcher_words \
	bounded \
	alert \
	flow \
	flow_logs \
	flow_capture \
	flow_rules \
	flow_bad \
	flow_exporters \
	flow_read \
	flow_spans \
	flow_toolkit

REGRESS_OPTS = --inputdir=. --encoding=UTF8 --no-locale

# two sessions at a time
ISOLATION = \
	ingest_same_job \
	ingest_other_job \
	ingest_readers \
	ingest_serializable \
	forget_while_ingest \
	forget_templates \
	forget_while_match \
	diagnose_twice \
	alert_twice \
	collect_twice \
	confirm_twice \
	import_twice
ISOLATION_OPTS = --inputdir=test/isolation --load-extension=l4 --encoding=UTF8 --no-locale

TAP_TESTS = 1
PROVE_TESTS ?= test/t/*.pl
EXTRA_CLEAN = sql/l4--*.sql sql/l4--*.sql.new sql/install/87_rows.sql sql/install/87_rows.sql.new

# What sets up a machine or a private server runs in a script of its own; none of it needs PGXS.
SCRIPTED = help check check-all demo score bench growth
ifneq ($(filter $(SCRIPTED),$(MAKECMDGOALS)),)
.PHONY: $(SCRIPTED)
help:
	@test/run help
check check-all demo score bench growth:
	@test/run $@
else
PG_CONFIG ?= pg_config
PCRE2_LIBS := $(shell pkg-config --libs libpcre2-8 2>/dev/null)
PCRE2_CFLAGS := $(shell pkg-config --cflags libpcre2-8 2>/dev/null)
ifeq ($(PCRE2_LIBS)$(filter clean distclean,$(MAKECMDGOALS)),)
$(error l4 needs PCRE2: install libpcre2-dev (Debian) or pcre2-devel, or set PKG_CONFIG_PATH)
endif
ZSTD_LIBS := $(shell pkg-config --libs libzstd 2>/dev/null)
ZSTD_CFLAGS := $(shell pkg-config --cflags libzstd 2>/dev/null)
ifeq ($(ZSTD_LIBS)$(filter clean distclean,$(MAKECMDGOALS)),)
$(error l4 needs zstd: install libzstd-dev (Debian) or libzstd-devel, or set PKG_CONFIG_PATH)
endif
PG_CPPFLAGS = -I$(srcdir)/src -DL4_VERSION='"$(EXTVERSION)"' $(PCRE2_CFLAGS) $(ZSTD_CFLAGS)
PG_CFLAGS += -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers
SHLIB_LINK = $(PCRE2_LIBS) $(ZSTD_LIBS)
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)
# A build folder of its own lacks the folders of what is made.
ifdef VPATH
$(shell mkdir -p $(sort $(dir $(OBJS))) sql/install)
endif

# PostgreSQL's programs often lie in a folder of their own.
install: say-where
# PGXS installs a script by its name alone, but takes it away by its whole path.
uninstall: uninstall-l4load
.PHONY: say-where uninstall-l4load
say-where:
	@command -v l4load >/dev/null || echo 'l4load goes to $(bindir), which is not in PATH.'
uninstall-l4load:
	rm -f '$(DESTDIR)$(bindir)/l4load'

# The archive for PGXN, of what is committed, with the install script that META.json names.
DIST ?= l4-$(EXTVERSION).zip
.PHONY: dist
dist: $(DATA_built)
	test/meta
	git diff --quiet HEAD || { echo 'commit first: the archive is made of what is committed' >&2; exit 1; }
	git archive --format=zip --output='$(DIST)' --prefix=l4-$(EXTVERSION)/sql/ --add-file=$(DATA_built) \
		--prefix=l4-$(EXTVERSION)/ HEAD

sql/l4--$(EXTVERSION).sql: sql/comments.pl $(FRAGMENTS) l4.control
	perl $(filter-out %.control,$^) > $@.new
	mv $@.new $@
sql/install/87_rows.sql: sql/data/rows.pl $(DATA_FILES)
	perl $^ > $@.new
	mv $@.new $@
$(OBJS): $(wildcard $(srcdir)/src/*.h $(srcdir)/src/*/*.h) l4.control
# Their loops are written for the vectorizer, which GCC leaves out at -O2.
src/dtw/dtw.o src/evector/evector.o: override CFLAGS += -O3
endif
