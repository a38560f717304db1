/*
 * l4_compat.h
 *		What differs between PostgreSQL 14 and 18. No other file may test
 *		PG_VERSION_NUM.
 */
#ifndef L4_COMPAT_H
#define L4_COMPAT_H

#include "fmgr.h"
#include "funcapi.h"
#include "utils/guc.h"

#if PG_VERSION_NUM < 140000
#error "l4 needs PostgreSQL 14 or later"
#endif

#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#if PG_VERSION_NUM >= 180000
#define L4_MODULE_MAGIC PG_MODULE_MAGIC_EXT(.name = "l4", .version = L4_VERSION)
#else
#define L4_MODULE_MAGIC PG_MODULE_MAGIC
#endif

/*
 * Set up the materialized result of a set-returning function, with the columns
 * that the caller expects: afterwards rsinfo->setResult and rsinfo->setDesc are
 * there to be filled.
 */
#if PG_VERSION_NUM < 150000
#include "miscadmin.h"
#include "utils/tuplestore.h"

static inline void
l4_init_materialized_srf(FunctionCallInfo fcinfo)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext old;

	if (rsinfo == NULL || !IsA(rsinfo, ReturnSetInfo))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("set-valued function called in context that cannot accept a set")));
	if (!(rsinfo->allowedModes & SFRM_Materialize) || rsinfo->expectedDesc == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("materialize mode required, but it is not allowed in this context")));
	old = MemoryContextSwitchTo(rsinfo->econtext->ecxt_per_query_memory);
	rsinfo->returnMode = SFRM_Materialize;
	rsinfo->setDesc = CreateTupleDescCopy(rsinfo->expectedDesc);
	rsinfo->setResult = tuplestore_begin_heap((rsinfo->allowedModes & SFRM_Materialize_Random) != 0, false, work_mem);
	MemoryContextSwitchTo(old);
}
#else
#define l4_init_materialized_srf(fcinfo) InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC)
#endif

#if PG_VERSION_NUM < 150000
#define l4_mark_guc_prefix_reserved(prefix) EmitWarningsOnPlaceholders(prefix)
#else
#define l4_mark_guc_prefix_reserved(prefix) MarkGUCPrefixReserved(prefix)
#endif

/* Send a message of several parts through a queue, waiting for room; the receiver is told at once. */
#if PG_VERSION_NUM < 150000
#define l4_shm_mq_sendv(queue, parts, n) shm_mq_sendv(queue, parts, n, false)
#else
#define l4_shm_mq_sendv(queue, parts, n) shm_mq_sendv(queue, parts, n, false, true)
#endif

/* A relation of a query that nobody's rights are looked at for, since the query has it already. */
#if PG_VERSION_NUM < 160000
#define L4_RTE_WITHOUT_RIGHTS(query, rte) ((rte)->requiredPerms = 0)
#else
#include "parser/parse_relation.h"
#define L4_RTE_WITHOUT_RIGHTS(query, rte) \
	((rte)->perminfoindex = 0, (void) addRTEPermissionInfo(&(query)->rteperminfos, rte))
#endif

/* A function that does not return; stands in front of its declaration. */
#if PG_VERSION_NUM >= 180000
#define L4_NORETURN pg_noreturn
#else
#define L4_NORETURN pg_attribute_noreturn()
#endif

#endif							/* L4_COMPAT_H */
