-- The shipped faults as a whole.

-- at least 500, all categories, ids fixed and below the users'
SELECT count(*) >= 500 AS enough, bool_and(fault_id < 1000000) AS ids, bool_and(origin = 'builtin') AS origin FROM l4.fault;
SELECT category, count(*) >= 50 AS enough FROM l4.fault GROUP BY category ORDER BY category;
SELECT fault_id, name FROM l4.fault WHERE name ~ '^sym_' AND NOT is_effect;
-- what only reports that a process ended, or that a peer does not answer, is an effect
SELECT name FROM l4.fault WHERE name ~ '_(sig(kill|bus|segv|abrt)|killed_by_signal|crashed_by_signal)$|^heartbeat_|_heartbeat_(missing|lost)$' AND NOT is_effect;
-- the class of an exception alone, or an error in words that nobody knows, is a catch-all
SELECT name FROM l4.fault WHERE name ~ '^error_line_|^python_(value|type|key|index|attribute|runtime|assertion|os)_error$' AND NOT l4._is_catch_all(priority);
-- what changes or resets something is not the first thing to do
SELECT name, remedy FROM l4.fault WHERE remedy ~* '^(reset|reboot|drain|power-cycle|replace|delete|kill|remove|raise|disable|clear|increase|restart|update|upgrade|downgrade|install|reinstall|reload|remount|recreate|isolate|free|end|retry)\M';

-- each row passes the check of users' rows, which the install script skips
SELECT name FROM l4.fault WHERE NOT l4._check_fault(fault);
-- complete: example, cause, remedy, source; an effect or a warning need not lead anywhere
SELECT name FROM l4.fault
WHERE (NOT combined AND (signature IS NULL OR example IS NULL)) OR length(root_cause) < 15 OR length(remedy) < 10 OR source_url !~ '^https?://[^/ ]+\.[^/ ]+';
SELECT name FROM l4.fault WHERE severity IN ('error', 'fatal') AND NOT is_effect AND leads_to = '{}' AND category IN ('hardware', 'user') AND component IN ('network', 'node', 'program', 'configuration');

-- every example matches its own signature, also inside a raw line with the heads of a launcher and of a log collector
SELECT name FROM l4.fault WHERE NOT combined AND l4.pcre_match(example, signature) IS NOT TRUE;
SELECT f.name, c.step FROM l4.fault f LEFT JOIN l4.fault_condition c ON c.fault_id = f.fault_id WHERE f.combined AND c.fault_id IS NULL;
SELECT name FROM l4.fault WHERE l4.pcre_match('[default3]:' || example, signature) IS NOT TRUE AND signature::text !~ '\^';
SELECT name FROM l4.fault WHERE signature::text ~ '^\^\(\?!\.\{0,100\}' AND l4.pcre_match('[rank3]: ' || example, signature) IS NOT TRUE;
SELECT name FROM l4.fault WHERE signature::text ~ '^\^\(\?!\.\{0,100\}' AND l4.pcre_match('2025-02-23T16:24:18.101123456Z stderr F ' || example, signature) IS NOT TRUE;

-- of what matches an example of a fault that is no fallback, its own row has the highest priority or shares it
SELECT f.name, o.name AS beaten_by
FROM l4.fault f JOIN l4.fault o ON o.fault_id <> f.fault_id AND o.priority > f.priority AND l4.pcre_match(f.example, o.signature)
WHERE f.priority >= 50 AND NOT f.is_effect
ORDER BY 1, 2;

-- wordings of one family
SELECT w.line, (SELECT string_agg(f.name, ' ' ORDER BY f.priority DESC, f.name) FROM l4.fault f WHERE l4.pcre_match(w.line, f.signature)) AS faults
FROM (VALUES
	('eth0 link state changed: carrier 1 -> 0'), ('mlx5_core 0000:5e:00.0 ens1f0: Link down'), ('kernel: bnxt_en 0000:3b:00.0 ens1f0np0: NIC Link is Down'),
	('kernel: ice 0000:31:00.0 eth2: NIC Link is Down'), ('systemd-networkd[911]: enp3s0f0: Lost carrier'), ('node7 monitor: ib0 carrier lost'),
	('interface bond0 changed state to down'), ('2: eth1: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 9000 qdisc mq state DOWN'),
	('kernel: bond0: (slave eth0): link status definitely down, disabling slave'), ('ib0 operstate changed to down'),
	('OSError: [Errno 117] Structure needs cleaning'), ('OSError: [Errno 110] Connection timed out'), ('BlockingIOError: [Errno 11] Resource temporarily unavailable'),
	('step 812 took 14.1 s, 6.3 times the running average (2.2 s)'), ('iteration time 9.1 s is 4.2x slower than the median of 2.1 s'),
	('gpu-operator   nvidia-device-plugin-daemonset-x2k4p   0/1   CrashLoopBackOff   12 (45s ago)   37m'), ('trainer-0   0/1   CrashLoopBackOff   12 (45s ago)   37m'),
	('The actor''s node was preempted: spot instance reclaimed'), ('This can happen if the node was preempted'),
	('AttributeError: ''Linear'' object has no attribute ''ds_grads_remaining'''), ('AttributeError: ''Linear'' object has no attribute ''weigth'''),
	('gpu17 4: [rank4]: KeyError: ''text'''), ('trainer/1 KeyError: ''text'''), ('2026-01-07 10:11:12,345 - ERROR - KeyError: ''text'''), ('RuntimeError: CUDA out of memory'),
	('gpu17: rank 5 died from signal 9'), ('Task 2 heartbeat timeout. This indicates that the remote task has failed'), ('recvmsg:Connection reset by peer: UnavailableError: Graph execution error:'),
	('Error: cannot read /data/shard-7.bin: No such file or directory (os error 2)'), ('Error: Os { code: 5, kind: Uncategorized, message: "Input/output error" }'),
	('panic: open /data/x: no such file or directory'), ('Error: EACCES: permission denied, open ''/data/x'''), ('Error: invalid value for --batch: 7'),
	('Error: all-reduce failed in step 3 of epoch 1'), ('java.io.FileNotFoundException: /data/x (No such file or directory)'), ('RuntimeError: Connection closed by peer [10.0.0.7]:4711'),
	('exited: trainer (terminated by SIGTERM; not expected)'), ('srun: error: If munged is up, restart with --num-threads=10'), ('slurmd[12]: fatal: can''t stat gres.conf file /dev/nvidia0: No such file or directory'),
	('node1:1:2 [0] NCCL WARN Net : connecting to address  with family 7 is neither AF_INET(2) nor AF_INET6(10)'), ('MCCL WARN transport lost peer 10.1.1.7'), ('aclrtSynchronizeStream failed: 507018'),
	('status = StatusCode.PERMISSION_DENIED'), ('google.api_core.exceptions.TooManyRequests: 429'), ('RuntimeError: HCCL function error: HcclAllReduce, error code is 19'),
	('loaded runtime CuDNN library: 8.0.4 but source was compiled with: 8.1.0.'), ('NFS: state manager: lease expired failed on NFSv4 server nas1 with error 5'),
	('INFO: Unable to initialize backend ''tpu'': libtpu.so: cannot open shared object file: No such file or directory'),
	('RuntimeError: [write] Unable to write 2809 bytes to file.'), ('RuntimeError: [load] Failed to open file /ckpt/step-9.bin'), ('RuntimeError: invalid offsets (0, 9) exceeding the size of the file.'),
	('ValueError: Expected shape (192, 64) but received shape (128, 64) for parameter mlp.gate.weight'),
	(E'3\ttensorflow.python.framework.errors_impl.InvalidArgumentError: Graph execution error:'), ('tensorflow.python.framework.errors_impl.UnavailableError: Graph execution error:'),
	('indices[6,11] = 103 is not in [0, 96)'), ('cannot compute AddV2 as input #1(zero-based) was expected to be a float tensor but is a half tensor'),
	('RuntimeError: expected target dtype to be Long or Byte, but got Int'),
	(E'File "/v/site-packages/keras/src/ops.py", line 59, in run\n    except TypeError as e:\nInvalidArgumentError: 7'), (E'File "/v/site-packages/keras/src/ops.py", line 59, in run\n    raise e\nTypeError: 7'),
	('RuntimeError: Train loss contains a NaN.'), ('FloatingPointError: loss is now infinite'), ('ERROR: gradient norm is nan, step skipped'),
	('[W1127 08:49:11.628 socket.cpp:204] [c10d] The hostname of the client socket cannot be retrieved. err=-3'),
	('veth3f2a: Link is down'), ('eth0 link state changed: carrier 0 -> 1'), ('ens1f0: Link is Up - 100Gbps')) AS w(line);

-- no signature matches a healthy line: examples of the rules that describe healthy logs, and lines that only sound bad
CREATE TEMP TABLE healthy AS
	SELECT example AS line FROM l4.stage_rule WHERE stage <> 'shutdown'
	UNION SELECT example FROM l4.iteration_rule
	UNION SELECT line FROM (VALUES
		('2023-11-20 10:11:12.123456: I tensorflow/core/util/port.cc:113] oneDNN custom operations are on. You may see slightly different numerical results due to floating-point round-off errors from different computation orders.'),
		('2023-11-20 10:11:12.123456: E external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc:9261] Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN when one has already been registered'),
		('2023-11-20 10:11:12.123456: W tensorflow/compiler/tf2tensorrt/utils/py_utils.cc:38] TF-TRT Warning: Could not find TensorRT'),
		('2023-11-20 10:11:12.123456: I tensorflow/tsl/cuda/cudart_stub.cc:28] Could not find cuda drivers on your machine, GPU will not be used.'),
		('[WARNING]  async_io requires the dev libaio .so object and headers but these were not found.'),
		('[WARNING]  Please specify the CUTLASS repo directory as environment variable $CUTLASS_PATH'),
		('[WARNING]  using untested triton version (2.1.0), only 1.0.0 is known to be compatible'),
		('[2024-01-02 03:04:05,678] [WARNING] [stage3.py:1949:step] 1 pytorch allocator cache flushes since last step. this happens when there is high memory pressure and is detrimental to performance.'),
		('[2024-01-02 03:04:05,678] [INFO] [loss_scaler.py:183:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 4294967296, reducing to 2147483648'),
		('[2024-01-02 03:04:05,678] [INFO] [real_accelerator.py:133:get_accelerator] Setting ds_accelerator to cuda (auto detect)'),
		('You are attempting to use Flash Attention 2.0 without specifying a torch dtype. This might lead to unexpected behaviour'),
		('Flash Attention 2.0 only supports torch.float16 and torch.bfloat16 dtypes, but the current dype in LlamaForCausalLM is torch.float32.'),
		('`use_cache=True` is incompatible with gradient checkpointing. Setting `use_cache=False`.'),
		('/opt/conda/lib/python3.10/site-packages/torch/utils/checkpoint.py:429: UserWarning: torch.utils.checkpoint: please pass in use_reentrant=True or use_reentrant=False explicitly. The default value of use_reentrant will be updated to be False in the future.'),
		('/opt/conda/lib/python3.10/site-packages/torch/utils/checkpoint.py:61: UserWarning: None of the inputs have requires_grad=True. Gradients will be None'),
		('Token indices sequence length is longer than the specified maximum sequence length for this model (5021 > 2048). Running this sequence through the model will result in indexing errors'),
		('Some weights of LlamaForCausalLM were not initialized from the model checkpoint at meta-llama/Llama-2-7b-hf and are newly initialized: [''model.layers.0.self_attn.rotary_emb.inv_freq'']'),
		('You should probably TRAIN this model on a down-stream task to be able to use it for predictions and inference.'),
		('The following columns in the training set don''t have a corresponding argument in `PeftModelForCausalLM.forward` and have been ignored: text. If text are not expected by `PeftModelForCausalLM.forward`,  you can safely ignore this message.'),
		('huggingface/tokenizers: The current process just got forked, after parallelism has already been used. Disabling parallelism to avoid deadlocks...'),
		('Special tokens have been added in the vocabulary, make sure the associated word embeddings are fine-tuned or trained.'),
		('The model weights are not tied. Please use the `tie_weights` method before using the `infer_auto_device` function.'),
		('/usr/lib/python3/dist-packages/torch/nn/parallel/distributed.py:1234: UserWarning: find_unused_parameters=True was specified in DDP constructor, but did not find any unused parameters in the forward pass.'),
		('[W reducer.cpp:1346] Warning: find_unused_parameters=True was specified in DDP constructor, but did not find any unused parameters in the forward pass. This flag results in an extra traversal of the autograd graph every iteration'),
		('[W Utils.hpp:133] Warning: Environment variable NCCL_ASYNC_ERROR_HANDLING is deprecated; use TORCH_NCCL_ASYNC_ERROR_HANDLING instead (function getCvarInt)'),
		('[W socket.cpp:601] [c10d] The client socket cannot be initialized to connect to [localhost]:29500 (errno: 97 - Address family not supported by protocol).'),
		('node1:1234:1234 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.'),
		('node1:1234:1234 [0] NCCL INFO NET/IB : No device found.'),
		('node1:1234:1234 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth0'),
		('node1:1234:1234 [0] NCCL INFO cudaDriverVersion 12020'),
		('node1:1234:1299 [0] NCCL INFO comm 0x55d rank 0 nranks 16 cudaDev 0 nvmlDev 0 busId 7000 commId 0x1 - Init COMPLETE'),
		('node1:1234:1299 [0] NCCL INFO NCCL_IB_TIMEOUT set by environment to 22.'),
		('node1:1234:1234 [0] NCCL INFO misc/socket.cc:46 -> 3'),
		('libibverbs: Warning: couldn''t load driver ''libhns-rdmav34.so'': libhns-rdmav34.so: cannot open shared object file: No such file or directory'),
		('WARNING:torch.distributed.run:'),
		('Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being overloaded, please further tune the variable for optimal performance in your application as needed.'),
		('bash: /opt/conda/lib/libtinfo.so.6: no version information available (required by bash)'),
		('/opt/conda/lib/python3.10/site-packages/torchvision/io/image.py:13: UserWarning: Failed to load image Python extension: ''libjpeg.so.8: cannot open shared object file: No such file or directory''If you don''t plan on using image functionality from `torchvision.io`, you can ignore this warning.'),
		('WARNING[XFORMERS]: xFormers can''t load C++/CUDA extensions. xFormers was built for:'),
		('The installed version of bitsandbytes was compiled without GPU support. 8-bit optimizers, 8-bit multiplication, and GPU quantization are unavailable.'),
		('wandb: W&B syncing is set to `offline` in this directory. Run `wandb online` or set WANDB_MODE=online to enable cloud syncing.'),
		('wandb: Network error (ConnectTimeout), entering retry loop.'),
		('wandb: WARNING Serializing object of type dict that is 589920 bytes'),
		('Detected kernel version 4.18.0, which is below the recommended minimum of 5.5.0; this can cause the process to hang. It is recommended to upgrade the kernel to the minimum version or higher.'),
		('Failed to load CUDA extension fused_softmax, falling back to torch'),
		('fused_layer_norm_cuda is not available, using torch layer norm'),
		('warning: apex is not installed, FusedAdam will not be used'),
		('Please install `flash-attn` for faster attention.'),
		('Consider using a more recent version of triton, please update triton to use the fused kernel'),
		(' iteration       10/  500000 | consumed samples:         5120 | elapsed time per iteration (ms): 12345.6 | learning rate: 1.500E-06 | global batch size:   512 | lm loss: 1.083742E+01 | loss scale: 4294967296.0 | grad norm: 25.337 | number of skipped iterations:   0 | number of nan iterations:   0 |'),
		(' > number of parameters on (tensor, pipeline) model parallel rank (0, 0): 1234567'),
		('WARNING: could not find the metadata file /ckpt/latest_checkpointed_iteration.txt'),
		('    will not load any checkpoints and will start from random'),
		(' > padded vocab (size: 50257) with 47 dummy tokens (new size: 50304)'),
		('setting random seeds to 1234 ...'),
		('using torch.float16 for parameters ...'),
		('[W1120 10:11:12.123456 socket.cpp:207] [c10d] The hostname of the client socket cannot be retrieved. err=-3'),
		('[rank0]:W1120 10:11:12.123000 1234 torch/_dynamo/convert_frame.py:844] [8/8] torch._dynamo hit config.cache_size_limit (8)'),
		('[rank0]:[W1120 10:11:12.123456 CUDAAllocatorConfig.h:28] Warning: expandable_segments not supported on this platform (function operator())'),
		('[rank0]:[W1120 10:11:12.1 ProcessGroupNCCL.cpp:4115] [PG ID 0 PG GUID 0 Rank 0]  using GPU 0 to perform barrier as devices used by this process are currently unknown. This can potentially cause a hang if this rank to GPU mapping is incorrect.'),
		('[rank0]:[W1120 10:11:12.1 ProcessGroupNCCL.cpp:1250] Warning: WARNING: process group has NOT been destroyed before we destruct ProcessGroupNCCL. On normal program exit, the application should call destroy_process_group'),
		('{''loss'': 2.3011, ''grad_norm'': 1.2345, ''learning_rate'': 2e-05, ''epoch'': 0.01}'),
		('{''eval_loss'': 1.9, ''eval_runtime'': 12.3, ''eval_samples_per_second'': 81.2}'),
		('`Trainer.fit` stopped: `max_epochs=10` reached.'),
		('Trainer already configured with model summary callbacks: [<class ''lightning.pytorch.callbacks.model_summary.ModelSummary''>]. Skipping setting a default `ModelSummary` callback.'),
		('GPU available: True (cuda), used: True'),
		('You are using a CUDA device (''NVIDIA A100'') that has Tensor Cores. To properly utilize them, you should set `torch.set_float32_matmul_precision(''medium'' | ''high'')`'),
		('LOCAL_RANK: 0 - CUDA_VISIBLE_DEVICES: [0,1,2,3,4,5,6,7]'),
		('SLURM auto-requeueing enabled. Setting signal handlers.'),
		('The ''train_dataloader'' does not have many workers which may be a bottleneck. Consider increasing the value of the `num_workers` argument` to `num_workers=127` in the `DataLoader` to improve performance.'),
		('mean_absolute_error: 0.0312 root_mean_squared_error: 0.2'),
		('test/error_rate=0.031 val_error 0.22'),
		('train error: 0.12, validation error: 0.14'),
		('INFO:root:retry 1 of 3 after ConnectionResetError: [Errno 104] Connection reset by peer'),
		('WARNING - request failed (HTTP 503 Service Unavailable), retrying in 2 s'),
		('[WARNING] urllib3.connectionpool: Retrying (Retry(total=4, connect=None, read=None, redirect=None, status=None)) after connection broken by ''ReadTimeoutError("HTTPSConnectionPool(host=''huggingface.co'', port=443): Read timed out. (read timeout=10)")'': /api/models'),
		('tensor-model-parallel-size ...................... 8'),
		('  error_injection_rate ............................ 0'),
		('  exit_signal_handler ............................. False'),
		('  nccl_communicator_config_path ................... None'),
		('  timeout_minutes ................................. 10'),
		('  use_flash_attn .................................. False'),
		('  rerun_mode ...................................... disabled'),
		('  exit_signal ..................................... SIGTERM'),
		('  fp16_lm_cross_entropy ........................... False'),
		('  check_for_nan_in_loss_and_grad .................. True'),
		('  ckpt_assume_constant_structure .................. False'),
		('  log_straggler ................................... False'),
		('srun: job 4711 queued and waiting for resources'),
		('srun: job 4711 has been allocated resources'),
		('pyxis: importing docker image: nvcr.io/nvidia/pytorch:24.03-py3'),
		('pyxis: imported docker image: nvcr.io/nvidia/pytorch:24.03-py3'),
		('slurmstepd: info: task 0 started'),
		('NOTE! Installing ujson may make loading annotations faster.'),
		('NOTE: CUDA Forward Compatibility mode ENABLED.'),
		('    Using CUDA 12.2 driver version 535.104.05 with kernel driver version 470.161.03.'),
		('Normal  Scheduled  2m  default-scheduler  Successfully assigned train/worker-0 to node-7'),
		('Normal  Pulled  2m  kubelet  Container image "train:latest" already present on machine'),
		('(RayTrainWorker pid=1234, ip=10.0.0.3) Setting up process group for: env:// [rank=3, world_size=8]'),
		('(raylet) WARNING: 8 PYTHON worker processes have been started on node: abc with address: 10.0.0.1. This could be a result of using a large number of actors'),
		('[1,0]<stdout>:Horovod: started with 8 ranks'),
		('saving checkpoint at iteration 1000 to /ckpt in torch_dist format'),
		('successfully saved checkpoint from iteration 1000 [ t 1/8, p 1/1 ]'),
		('evaluating on validation split, error bars at 95 percent'),
		('fallback: no fused kernel for head_dim 80, using eager attention'),
		('Not using distributed mode'),
		('/usr/bin/rm: cannot remove ''/tmp/x'': No such file or directory'),
		('kernel: [  12.345678] mlx5_core 0000:5e:00.0: firmware version: 20.31.1014'),
		('kernel: [  12.345678] mlx5_core 0000:5e:00.0 ens1f0: Link up'),
		('kernel: [  12.345678] nvidia-nvlink: Nvlink Core is being initialized, major device number 235'),
		('kernel: [  12.345678] EDAC MC: Ver: 3.0.0'),
		('kernel: [  12.345678] mce: CPU supports 32 MCE banks'),
		('kernel: [  12.345678] pcieport 0000:00:01.0: AER: enabled with IRQ 24'),
		('kernel: [  12.345678] EXT4-fs (nvme0n1p1): mounted filesystem with ordered data mode. Opts: (null)'),
		('kernel: [  12.345678] XFS (nvme1n1): Mounting V5 Filesystem'),
		('kernel: [  12.345678] thermal_sys: Registered thermal governor ''step_wise'''),
		('kernel: [  12.345678] ACPI: Power Button [PWRF]'),
		('kernel: [  12.345678] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.104.05'),
		('HCCL initialized on device 0, rank 0 of 8'),
		('[INFO] HCCL(1234,python):2025-01-01-00:00:00.000.000 [hccl_comm.cc:1] hcclCommInitRootInfo success'),
		('[W compiler_depend.ts:28] Warning: The oprator of add is executed, Currently High Accuracy but Low Performance OP with 64-bit has been used'),
		('I0000 00:00:1711301822.558010  981991 coordination_service.cc:686] /job:jax_worker/replica:0/task:3 has disconnected from coordination service.'),
		('I0000 00:00:1711301822.462938  981150 coordination_service_agent.cc:472] Coordination agent has initiated Shutdown().'),
		('[WARNING] attempt 1 of 4 failed: HTTP Error 503: Slow Down, retrying in 0.5 s'),
		('WARNING: fetch of shard 3: ReadTimeout, retry 1'),
		('slurmstepd: info: Setting TmpFS'),
		('I0921 02:28:25.195697       1 session.go:135] Open Session 7d0e3a2d-dc17 with <2> Job and <1> Queues'),
		('time="2024-02-21T09:30:56Z" level=info msg="PyTorchJob=simple, ReplicaType=Worker expected=1, running=1, succeeded=0, failed=0, Replicas=1"'),
		('checkpoint directory /ckpt does not exist yet, starting from scratch'),
		('resume: no checkpoint found in /ckpt, starting from step 0'),
		('Found 3 invalid samples, skipped'),
		('gradient norm is inf, skipping step and reducing loss scale'),
		('step 120: loss is 2.31, no NaN'),
		('[rank3]: heartbeat ok'),
		('all ranks passed barrier in 120 ms'),
		('node07 is back after 3 s'),
		('Rendezvous complete for workers. Result: restart_count=0 master_addr=node0 master_port=29500'),
		('[c10d] The server socket has started to listen on [::]:29500.'),
		('[I socket.cpp:522] [c10d - debug] The server socket will attempt to listen on an IPv6 address.'),
		('[INFO] elastic agent: worker group state is SUCCEEDED'),
		('Worker group successfully finished. Waiting 300 seconds for other agents to finish.'),
		('Done waiting for other agents. Elapsed: 0.001 seconds')
	) AS v(line);
SELECT count(*) >= 180 AS enough FROM healthy;
SELECT f.name, h.line FROM healthy h JOIN l4.fault f ON NOT f.combined AND l4.pcre_match(h.line, f.signature) IS NOT FALSE ORDER BY 1, 2;
-- the first step of a combination neither
SELECT f.name, h.line FROM healthy h JOIN l4.fault_condition c ON c.step = 1 AND l4.pcre_match(h.line, c.signature) IS NOT FALSE JOIN l4.fault f USING (fault_id) ORDER BY 1, 2;

-- leads_to: all names exist, nothing leads back to itself, causes reach the timeouts of their peers
SELECT * FROM l4.fault_problem;
SELECT count(*) > 300 AS enough FROM l4._fault_effects((SELECT array_agg(name) FROM l4.fault)) WHERE effect = 'sym_c10d_collective_timeout';

-- no signature runs into a limit on long lines
CREATE TEMP TABLE long_line AS
	SELECT repeat(chunk, 200000 / length(chunk)) AS line
	FROM (VALUES ('a'), ('0'), (' '), ('a '), ('Error: '), ('1.2.3.4:'), ('[rank0]: '), ('NCCL WARN '), ('/a/b'), ('= '), ('node-1: ')) AS v(chunk);
SELECT f.name, left(l.line, 20) FROM long_line l JOIN l4.fault f ON NOT f.combined AND l4.pcre_match(l.line, f.signature) IS NULL ORDER BY 1, 2;
