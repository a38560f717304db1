/*
 * genjob.c
 *		Writes the log lines of a made-up training job of any size, as COPY
 *		text: job_id, node, source, rank, line_no, ts, line, ordered by node,
 *		source and line_no. The same options give the same bytes.
 *
 * Nothing is kept in memory: every value is a hash of the seed, the rank and
 * the iteration, so a job of a billion lines needs no more room than one of
 * a thousand.
 *
 * genjob [-j job] [-n nodes] [-r ranks a node] [-i iterations] [-l lines]
 *		  [-f fault] [-b faulty node] [-a iteration of the fault] [-s seed]
 * With -l the number of iterations is chosen so that about so many lines
 * come out. Faults: none, hang, crash, oom, nic, nan, slow, launch.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef enum Fault
{
	FAULT_NONE,
	FAULT_HANG,
	FAULT_CRASH,
	FAULT_OOM,
	FAULT_NIC,
	FAULT_NAN,
	FAULT_SLOW,
	FAULT_LAUNCH,
} Fault;

static const char *const fault_names[] = {"none", "hang", "crash", "oom", "nic", "nan", "slow", "launch"};

#define STEP_MS 350				/* undisturbed iteration */
#define START_MS 40000			/* from the first line to iteration 1 */
#define TIMEOUT_MS 600000		/* collectives give up after ten minutes */
#define LINES_START 40			/* lines of a stream before training */
#define LINES_STEP 5.1			/* lines of a stream and iteration, on average */
#define EPOCH_MS INT64_C(1772359200000) /* 2026-03-01 10:00:00 UTC */

static const char *job = "bench-1";
static int	nodes = 64;
static int	ranks = 1;
static int	iterations = 1000;
static Fault fault = FAULT_NONE;
static int	faulty = -1;
static int	at = -1;
static uint64_t seed = 1;

/* state of the stream that is being written */
static int	node;
static int	rank;
static int64_t line_no;
static int64_t now_ms;

static uint64_t
mix(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27;
	x *= UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* uniform in [0, 1), by what is asked about and by whom (who < 0: the same for all ranks) */
static double
draw(int who, int64_t when, int what)
{
	uint64_t	h = mix(seed + UINT64_C(0x9e3779b97f4a7c15) * (uint64_t) (who + 2));

	h = mix(h + (uint64_t) when);
	h = mix(h + (uint64_t) what);
	return (double) (h >> 11) / 9007199254740992.0;
}

static int
pick(int who, int64_t when, int what, int n)
{
	return (int) (draw(who, when, what) * n);
}

/* undisturbed time of an iteration, the same on all ranks: they wait for each other */
static double
step_ms(int iteration)
{
	double		ms = STEP_MS * (0.95 + 0.1 * draw(-1, iteration, 1));

	if (draw(-1, iteration, 2) < 0.002)
		ms *= 3;				/* a stall now and then, in healthy jobs too */
	if (fault == FAULT_SLOW && iteration >= at)
		ms *= 4;
	return ms;
}

static void
put(const char *line)
{
	time_t		seconds = (time_t) (now_ms / 1000);
	struct tm	tm;

	gmtime_r(&seconds, &tm);
	printf("%s\tgpu-%04d\trank%d.log\t%d\t%" PRId64 "\t%04d-%02d-%02d %02d:%02d:%02d.%03d+00\t%s\n",
		   job, node, rank, rank, ++line_no, tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
		   tm.tm_hour, tm.tm_min, tm.tm_sec, (int) (now_ms % 1000), line);
}

/* a line as it is, for stack traces and what libraries print */
static void
raw(const char *format,...)
{
	char		line[1024];
	va_list		args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	put(line);
}

/* a line of the trainer: time, level, rank, module */
static void
say(const char *level, const char *module, const char *format,...)
{
	char		line[1024];
	time_t		seconds = (time_t) (now_ms / 1000);
	struct tm	tm;
	int			len;
	va_list		args;

	gmtime_r(&seconds, &tm);
	len = snprintf(line, sizeof(line), "[%04d-%02d-%02d %02d:%02d:%02d,%03d] [%s] [rank %d] %s: ",
				   tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
				   (int) (now_ms % 1000), level, rank, module);
	va_start(args, format);
	vsnprintf(line + len, sizeof(line) - len, format, args);
	va_end(args);
	put(line);
}

static void
start_up(void)
{
	now_ms = EPOCH_MS + pick(rank, 0, 10, 2000);
	raw("*****************************************");
	raw("Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being overloaded");
	raw("*****************************************");
	say("INFO", "launcher", "starting worker of rank %d on gpu-%04d, local rank %d, pid %d", rank, node, rank % ranks, 2000 + pick(rank, 0, 11, 30000));
	for (int i = 0; i < 12; i++)
		say("INFO", "arguments", "%s ................. %d", (const char *[]) {"hidden_size", "num_layers", "num_attention_heads", "seq_length",
															   "micro_batch_size", "global_batch_size", "train_iters", "tensor_model_parallel_size",
															   "pipeline_model_parallel_size", "data_parallel_size", "save_interval", "eval_interval"}[i],
			(int[]) {8192, 80, 64, 4096, 1, 1024, iterations, 8, 4, nodes * ranks / 32 + 1, 200, 250}[i]);
	now_ms += 3000 + pick(rank, 0, 12, 500);
	say("INFO", "distributed", "initializing process group: backend nccl, world size %d", nodes * ranks);
	for (int i = 0; i < 4; i++)
		raw("gpu-%04d:%d:%d [%d] NCCL INFO Channel %02d/0 : %d[%d] -> %d[%d] via NET/IB/%d/GDRDMA", node, 2000 + pick(rank, 0, 11, 30000),
			2400 + pick(rank, 0, 13, 30000), rank % ranks, i, rank, rank % 8, (rank + 1) % (nodes * ranks), (rank + 1) % 8, pick(rank, i, 14, 4));
	now_ms += 5000 + pick(rank, 0, 15, 2000);
	say("INFO", "distributed", "process group ready after %.1f s", 5.0 + 2 * draw(rank, 0, 15));
	say("INFO", "data", "building dataset index: %d documents, %d shards", 4194304, 1024);
	for (int i = 0; i < 3; i++)
		say("DEBUG", "data", "opened shard /data/train/shard-%05d.bin (%d tokens)", pick(rank, i, 16, 1024), 100000000 + pick(rank, i, 17, 1000000));
	if (draw(rank, 0, 18) < 0.05)
		say("WARNING", "data", "cache of shard index is stale, rebuilding");
	now_ms += 8000 + pick(rank, 0, 19, 1000);
	say("INFO", "model", "building model: %d parameters on this rank", 2188640256 / 8);
	if (draw(rank, 0, 20) < 0.1)
		say("WARNING", "model", "fused kernel %s not found, falling back", pick(rank, 0, 21, 2) ? "rmsnorm_cuda" : "rope_cuda");
	now_ms += 9000;
	say("INFO", "checkpoint", "loading checkpoint from /ckpt/run7/iter_%07d", 12000);
	if (fault == FAULT_LAUNCH && node == faulty)
		return;
	now_ms = EPOCH_MS + START_MS - 2000 + pick(rank, 0, 22, 500);
	say("INFO", "checkpoint", "loaded checkpoint in %.1f s", 9 + draw(rank, 0, 22));
	say("INFO", "training", "training starts at iteration 1");
}

/* what occurs at irregular times in healthy jobs too */
static void
noise(int iteration)
{
	if (draw(rank, iteration, 40) < 0.05)
		say("INFO", "monitor", "gpu %d temperature %d C power %d W memory %.1f GiB / 80.0 GiB", rank % 8, 50 + pick(rank, iteration, 41, 20),
			350 + pick(rank, iteration, 42, 150), 68 + 4 * draw(rank, iteration, 43));
	if (draw(rank, iteration, 44) < 0.004)
		say("WARNING", "storage", "GET /data/train/shard-%05d.bin: 503 Slow Down, attempt %d, retrying in %.1f s", pick(rank, iteration, 45, 1024),
			1 + pick(rank, iteration, 46, 3), 0.5 + 2 * draw(rank, iteration, 47));
	if (draw(rank, iteration, 48) < 0.002)
		say("ERROR", "storage", "PUT /metrics/run7/%d.json failed: connection reset by peer, dropped", iteration);
	if (draw(rank, iteration, 49) < 0.01)
		say("DEBUG", "gc", "generation %d collected %d objects in %.1f ms", pick(rank, iteration, 50, 3), pick(rank, iteration, 51, 5000), 20 * draw(rank, iteration, 52));
	if (draw(rank, iteration, 53) < 0.001)
		say("WARNING", "data", "prefetch queue low: %d of 16 batches", pick(rank, iteration, 54, 3));
}

static void
step(int iteration)
{
	double		ms = step_ms(iteration);
	double		own = fault == FAULT_SLOW && node == faulty && iteration >= at ? 4 : 1;
	double		forward = STEP_MS * 0.3 * (0.95 + 0.1 * draw(rank, iteration, 30)) * own;
	double		backward = STEP_MS * 0.5 * (0.95 + 0.1 * draw(rank, iteration, 31)) * own;
	double		loss = fault == FAULT_NAN && iteration >= at ? 0 : 2 + 8.0 / (1 + iteration / 50.0) + 0.05 * draw(-1, iteration, 32);
	int64_t		begin = now_ms;

	say("DEBUG", "data", "fetched batch %d from shard-%05d.bin in %.2f ms", iteration, pick(rank, iteration, 33, 1024), 0.2 + 2 * draw(rank, iteration, 34));
	now_ms = begin + (int64_t) forward;
	say("DEBUG", "schedule", "forward took %.2f ms", forward);
	now_ms = begin + (int64_t) (forward + backward);
	say("DEBUG", "schedule", "backward took %.2f ms", backward);
	noise(iteration);
	now_ms = begin + (int64_t) ms - 5;
	say("DEBUG", "comm", "all-reduce of %d buckets took %.2f ms", 24, ms - forward - backward > 1 ? ms - forward - backward : 1.0);
	if (fault == FAULT_NAN && iteration >= at)
		say("WARNING", "optimizer", "gradient norm is nan, skipping the update of iteration %d", iteration);
	now_ms = begin + (int64_t) ms;
	if (loss > 0)
		say("INFO", "training", "iteration %8d/%8d | consumed samples: %12d | elapsed time per iteration (ms): %.1f | learning rate: %.3E | global batch size: %5d | lm loss: %.6E | grad norm: %.3f | number of skipped iterations: %3d |",
			iteration, iterations, iteration * 1024, ms, 1.5e-4, 1024, loss, 0.2 + 0.1 * draw(-1, iteration, 35), 0);
	else
		say("INFO", "training", "iteration %8d/%8d | consumed samples: %12d | elapsed time per iteration (ms): %.1f | learning rate: %.3E | global batch size: %5d | lm loss: nan | grad norm: nan | number of skipped iterations: %3d |",
			iteration, iterations, iteration * 1024, ms, 1.5e-4, 1024, iteration - at + 1);
	if (iteration % 200 == 0)
	{
		say("INFO", "checkpoint", "saving checkpoint at iteration %d to /ckpt/run7", iteration);
		if (draw(rank, iteration, 60) < 0.01)
			say("WARNING", "checkpoint", "slow write: %d MiB/s", 80 + pick(rank, iteration, 61, 100));
		say("INFO", "checkpoint", "successfully saved checkpoint at iteration %d in %.1f s", iteration, 2 + draw(rank, iteration, 62));
	}
	if (iteration % 250 == 0)
	{
		say("INFO", "evaluation", "evaluating on %d batches", 16);
		say("INFO", "evaluation", "validation loss at iteration %d | lm loss value: %.6E | lm loss PPL: %.3f", iteration, 2.1 + draw(-1, iteration, 63), 8.0);
	}
}

static void
stack(const char *function, const char *statement)
{
	raw("Traceback (most recent call last):");
	raw("  File \"/opt/trainer/pretrain.py\", line 214, in <module>");
	raw("    main()");
	raw("  File \"/opt/trainer/pretrain.py\", line 198, in main");
	raw("    train(model, optimizer, batches)");
	raw("  File \"/opt/trainer/training.py\", line 1021, in %s", function);
	raw("    %s", statement);
}

static void
leave(int status)
{
	now_ms += 1500 + pick(rank, 0, 70, 1000);
	if (status < 0)
		say("ERROR", "launcher", "worker of rank %d was killed by signal %d (exitcode: %d)", rank, -status, status);
	else
		say("ERROR", "launcher", "worker of rank %d failed (exitcode: %d), terminating the group", rank, status);
}

/* the end of the faulty node */
static void
fail_here(int iteration)
{
	switch (fault)
	{
		case FAULT_HANG:
			return;				/* it just stops writing */
		case FAULT_CRASH:
			raw("Fatal Python error: Segmentation fault");
			raw("");
			raw("Current thread 0x00007f%08x (most recent call first):", pick(rank, 0, 80, 1 << 30));
			raw("  File \"/opt/trainer/schedules.py\", line 388 in backward_step");
			leave(-11);
			return;
		case FAULT_OOM:
			stack("train_step", "loss = model(batch)");
			raw("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate %.2f GiB. GPU %d has a total capacity of 79.15 GiB of which %.2f MiB is free.",
				1 + 3 * draw(rank, 0, 81), rank % 8, 500 * draw(rank, 0, 82));
			leave(1);
			return;
		case FAULT_NIC:
			say("WARNING", "monitor", "mlx5_%d: link state changed: ACTIVE -> DOWN", rank % 4);
			now_ms += TIMEOUT_MS;
			break;
		default:
			return;
	}
	raw("gpu-%04d:%d:%d [%d] NCCL WARN NET/IB : Got completion from peer with status=12 opcode=0 len=0 vendor err 129", node, 2000, 2400, rank % ranks);
	stack("allreduce_gradients", "bucket.wait()");
	raw("torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error at iteration %d", iteration);
	leave(1);
}

/* the end of every other node: it waits for the faulty one, gives up, and says so */
static void
fail_elsewhere(int iteration)
{
	if (fault == FAULT_CRASH || fault == FAULT_OOM)
	{
		now_ms += 300 + pick(rank, 0, 90, 700);
		stack("allreduce_gradients", "bucket.wait()");
		raw("RuntimeError: [rank %d] connection closed by peer gpu-%04d (rank %d)", rank, faulty, faulty * ranks);
		leave(1);
		return;
	}
	for (int wait = 30000; wait < TIMEOUT_MS; wait *= 2)
	{
		now_ms += wait / 2;
		say("WARNING", "comm", "all-reduce of iteration %d still pending after %d s", iteration, wait / 1000);
	}
	if (rank == 0)
		say("WARNING", "heartbeat", "no heartbeat from rank %d (gpu-%04d) for %d s", faulty * ranks, faulty, TIMEOUT_MS / 2000);
	now_ms += TIMEOUT_MS / 4 + pick(rank, 0, 91, 2000);
	stack("allreduce_gradients", "bucket.wait()");
	raw("torch.distributed.DistBackendError: [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=%d, OpType=ALLREDUCE, Timeout(ms)=%d) ran for %d milliseconds before timing out.",
		rank, iteration * 24 + 7, TIMEOUT_MS, TIMEOUT_MS + pick(rank, 0, 92, 900));
	leave(1);
}

static void
stream(void)
{
	line_no = 0;
	start_up();
	if (fault == FAULT_LAUNCH)
	{
		if (node == faulty)
		{
			stack("load_checkpoint", "state = read_shard(path)");
			raw("OSError: [Errno 5] Input/output error: '/ckpt/run7/iter_0012000/shard_%05d.pt'", rank);
			leave(1);
		}
		else
			fail_elsewhere(0);
		return;
	}
	now_ms = EPOCH_MS + START_MS;
	for (int iteration = 1; iteration <= iterations; iteration++)
	{
		if (iteration == at && fault != FAULT_SLOW && fault != FAULT_NAN && fault != FAULT_NONE)
		{
			if (node == faulty)
				fail_here(iteration);
			else
				fail_elsewhere(iteration);
			return;
		}
		step(iteration);
		if (fault == FAULT_NAN && iteration == at + 5)
		{
			stack("train_step", "check_loss(loss)");
			raw("RuntimeError: loss is nan in %d consecutive iterations", 6);
			leave(1);
			return;
		}
	}
	say("INFO", "training", "training finished after %d iterations", iterations);
	say("INFO", "launcher", "worker of rank %d finished (exitcode: 0)", rank);
}

static long
number(const char *value, long low, long high, const char *what)
{
	char	   *end;
	long		n = strtol(value, &end, 10);

	if (*end != '\0' || n < low || n > high)
	{
		fprintf(stderr, "genjob: %s must be between %ld and %ld, not \"%s\"\n", what, low, high, value);
		exit(2);
	}
	return n;
}

static Fault
fault_of(const char *name)
{
	for (int i = 0; i < (int) (sizeof(fault_names) / sizeof(fault_names[0])); i++)
		if (strcmp(fault_names[i], name) == 0)
			return (Fault) i;
	fprintf(stderr, "genjob: unknown fault \"%s\": none, hang, crash, oom, nic, nan, slow or launch\n", name);
	exit(2);
}

int
main(int argc, char **argv)
{
	long		lines = 0;
	int			option;
	static char buffer[1 << 20];

	while ((option = getopt(argc, argv, "j:n:r:i:l:f:b:a:s:")) != -1)
	{
		switch (option)
		{
			case 'j': job = optarg; break;
			case 'n': nodes = (int) number(optarg, 1, 9999, "nodes"); break;
			case 'r': ranks = (int) number(optarg, 1, 16, "ranks"); break;
			case 'i': iterations = (int) number(optarg, 1, 100000000, "iterations"); break;
			case 'l': lines = number(optarg, 1, 100000000000, "lines"); break;
			case 'f': fault = fault_of(optarg); break;
			case 'b': faulty = (int) number(optarg, 0, 9998, "faulty node"); break;
			case 'a': at = (int) number(optarg, 1, 100000000, "iteration of the fault"); break;
			case 's': seed = (uint64_t) number(optarg, 0, 2147483647, "seed"); break;
			default: return 2;
		}
	}
	if (lines > 0)
	{
		double		steps = ((double) lines / ((double) nodes * ranks) - LINES_START) / LINES_STEP;

		if (fault != FAULT_NONE && fault != FAULT_SLOW)
			steps /= 0.9;		/* the job ends when nine tenths are done */
		iterations = steps < 1 ? 1 : (int) steps;
	}
	if (faulty < 0)
		faulty = nodes * 5 / 8;
	if (at < 0)
		at = iterations * 9 / 10 + 1;
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	for (node = 0; node < nodes; node++)
		for (int local = 0; local < ranks; local++)
		{
			rank = node * ranks + local;
			stream();
		}
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
