-- Shipped faults recognised by several events together: what a line leaves open is decided by the nodes that show it. All nodes run
-- the same program, so what strikes one node alone while the others go on or only lose their peer points to that node. It comes after
-- the faults of single lines, which these lead to.

INSERT INTO l4.fault (fault_id, name, category, component, severity, priority, combined, root_cause, remedy, leads_to, source_url, origin)
VALUES
(1800, 'one_node_process_killed', 'hardware', 'node', 'fatal', 60, true,
 'A process of one node was killed from outside while the same program went on elsewhere: mostly the node''s memory ran out, or the node is in trouble.',
 'Read the kernel log of that node for the out-of-memory killer and hardware messages; compare its free memory with that of the others.',
 '{torchrun_worker_sigkill,deepspeed_launch_killed,dataloader_worker_killed,process_killed_by_signal,shell_process_killed,sym_slurm_task_exit,sym_ray_worker_exit,sym_launcher_rank_exit,k8s_container_exit}',
 'https://pytorch.org/docs/stable/elastic/errors.html', 'builtin'),
(1801, 'one_node_process_crashed', 'hardware', 'node', 'fatal', 60, true,
 'A process of one node crashed by a signal while the same program went on elsewhere: more likely the node (memory, accelerator, a damaged file) than the program.',
 'Test memory and accelerators of that node; compare its files and library versions with those of another; run without it.',
 '{python_segfault,process_crashed_by_signal,torchrun_worker_sigsegv,torchrun_worker_sigbus,bus_error_core,segfault_kernel_line,shell_process_crashed,dataloader_bus_error,container_shm_small,dataloader_worker_killed,dataloader_worker_segfault,deepspeed_launch_sigsegv,deepspeed_launch_sigbus,heap_corruption}',
 'https://pytorch.org/docs/stable/elastic/errors.html', 'builtin'),
(1802, 'one_node_disk_full', 'hardware', 'storage', 'error', 60, true,
 'One node could not write because its disk is full, while the others only lost their peer: mostly a local disk, or the one node that writes for all.',
 'See with df which file system of that node is full and what filled it; delete old checkpoints and caches; give the job another directory.',
 '{storage_full,ckpt_write_failed,errno_storage,nccl_shm_no_space}',
 'https://man7.org/linux/man-pages/man2/write.2.html', 'builtin'),
(1803, 'one_node_data_damaged', 'hardware', 'storage', 'error', 60, true,
 'A file that one node read is damaged, while the others went on: it was cut off or changed on the disk, in a cache or on the way.',
 'Compare size and checksum of the file with the original; copy it anew; look for errors of the disk or the file system on that node.',
 '{dataloader_worker_exception,config_parse,unicode_decode,pickle_corrupt,file_truncated,dataset_generation_error}',
 'https://docs.python.org/3/library/json.html#json.JSONDecodeError', 'builtin'),
(1804, 'one_node_checkpoint_unwritable', 'hardware', 'storage', 'error', 60, true,
 'One node could not open or write its part of a checkpoint, while the others could: its mount went read-only or stale, or its disk fails.',
 'Try to write to that directory on that node; look in its kernel log for errors of the disk or the mount; mount it again or run without the node.',
 '{ckpt_write_failed,torch_file_cannot_open,read_only_fs,errno_storage,permission_denied}',
 'https://github.com/pytorch/pytorch/blob/main/caffe2/serialize/inline_container.cc', 'builtin'),
(3800, 'one_node_data_missing', 'user', 'data', 'error', 60, true,
 'A file that the program reads is missing on one node only: it was not copied there, or lies elsewhere.',
 'Compare the directory of that node with that of another node; copy the data to all nodes, or put it on shared storage.',
 '{file_not_found,python_file_not_found,dataset_not_found,megatron_dataset_missing,errno_no_such_file}',
 'https://docs.python.org/3/library/exceptions.html#FileNotFoundError', 'builtin'),
(7800, 'one_node_file_missing', 'platform', 'storage', 'error', 60, true,
 'A part of a checkpoint, which the job itself wrote, is missing on one node only: the directory is not shared or not mounted there, or the node never wrote it.',
 'Compare the mounts and the directory of that node with those of another node; see whether the part lies on another node''s disk.',
 '{file_not_found,python_file_not_found,dataset_not_found,megatron_dataset_missing,errno_no_such_file}',
 'https://docs.python.org/3/library/exceptions.html#FileNotFoundError', 'builtin'),
(7801, 'one_node_read_only', 'platform', 'storage', 'error', 60, true,
 'A file system is read-only on one node only, and no disk error was logged: it was mounted with the wrong options there.',
 'Compare the mount options of that node with those of another; mount it for writing.',
 '{read_only_fs,ckpt_write_failed}',
 'https://man7.org/linux/man-pages/man8/mount.8.html', 'builtin'),
(7802, 'one_node_name_resolution', 'platform', 'platform_config', 'error', 60, true,
 'One node cannot resolve a name that the others can: its resolver, its hosts file or its way to the name server is broken.',
 'Compare /etc/resolv.conf and /etc/hosts of that node with those of another; resolve the name on both with getent hosts.',
 '{c10d_master_unresolvable,dns_resolution,torchrun_rendezvous_timeout,c10d_store_connect,c10d_client_connect_timeout}',
 'https://man7.org/linux/man-pages/man3/getaddrinfo.3.html', 'builtin');

-- Step 2 is the same for all: at least two nodes write (a time of day, a rank, a device ...), so the job did run on others too. In whatever
-- words those lose their peer, or none if they are ended from outside.
INSERT INTO l4.fault_condition (fault_id, step, kind, signature, min_nodes, max_nodes)
VALUES
(1800, 1, 'event', '[Ee]xit ?code[:=]? ?-9\b|(?:exit|terminat|crash|return|die|kill)(?:ed|d)? (?:with|by|from|on|due to) (?:exit |return )?(?:code|status|signal)?[:= ]*(?:-9|9|137|SIGKILL)\b(?! ?[%/.])|Worker exit type: SYSTEM_ERROR .{0,60}connection error code 2\b|Signal 9 \(SIGKILL\)|killed by signal: Killed|return code = -9|[Ee]xit(?:ed)? (?:with )?(?:code|status)[:= ]+137\b|[Ee]xitCode: 137|died with <Signals\.SIGKILL|status failed .{0,300}\bcode -9\b|srun: error: \S+: task \d+: Killed', 1, 1),
(1802, 1, 'event', 'No space left on device|Errno 28\]', 1, 1),
(1803, 1, 'event', 'JSONDecodeError: (?:Unterminated|Invalid control|Invalid \\|Expecting (?:.,|.:|property))|UnicodeDecodeError: |UnpicklingError: |invalid load key|[Bb]ad (?:magic number|CRC|checksum)|zlib\.error|BadZipFile|BadGzipFile|is truncated|checksum mismatch', 1, 1),
(1804, 1, 'event', 'RuntimeError: File \S+ cannot be opened|PytorchStreamWriter failed writing file', 1, 1),
(1801, 1, 'event', 'Fatal Python error: (?!Aborted)|[Ee]xit ?code[:=]? ?-(?:11|7|4|8)\b|status failed .{0,300}\bcode -(?:11|7|4|8)\b|(?:Segmentation fault|Bus error|Illegal instruction)` is detected|(?:exit|terminat|crash|die|kill)(?:ed|d) (?:by|from|on|with) signal:? ?(?:11|7|4|8)\b|Signal (?:11|7|4|8) \(SIG|killed by signal: (?:Bus|Segm|Illegal|Floating)|(?:Segmentation fault|Bus error|Illegal instruction) \(core dumped\)|return code = -(?:11|7|4|8)\b|exited on signal (?:11|7|4|8)\b', 1, 1),
(3800, 1, 'event', '(?:FileNotFoundError: |\[Errno 2\] No such file or directory)(?!.{0,400}(?i:ckpt|checkpoint|iter_\d|global_step|mp_rank|optim_|step[-_=]?\d|\.distcp))', 1, 1),
(7800, 1, 'event', '(?:FileNotFoundError: |\[Errno 2\] No such file or directory).{0,400}(?i:ckpt|checkpoint|iter_\d|global_step|mp_rank|optim_|step[-_=]?\d|\.distcp)', 1, 1),
(7801, 1, 'event', '(?:\[Errno 30\]|Read-only file system)(?!.{0,400}(?i:ckpt|checkpoint|iter_\d|global_step|mp_rank|optim_|step[-_=]?\d|\.distcp))', 1, 1),
(7802, 1, 'event', 'network addresses of .{1,200} cannot be retrieved|gaierror|Temporary failure in name resolution|Name or service not known|[Cc]ould not resolve host', 1, 1);

INSERT INTO l4.fault_condition (fault_id, step, kind, signature, min_nodes)
SELECT f.fault_id, 2, 'event', '\d\d:\d\d:\d\d|(?i:rank|device|node|error|warn|load|init|connect|time)', 2
FROM l4.fault AS f WHERE f.fault_id OPERATOR(pg_catalog.=) ANY (ARRAY[1800, 1801, 1802, 1803, 1804, 3800, 7800, 7801]);

INSERT INTO l4.fault_condition (fault_id, step, kind, signature, min_nodes)
VALUES
-- the others wait for it, or they go on: whatever a rank of a group says
(7802, 2, 'event', 'Start(?:ing|ed)? (?:worker|process|elastic)|[Rr]endezvous|\[c10d|torch\.distributed|[Ww]orld size|\brank\b', 2);

INSERT INTO l4.fault_condition (fault_id, step, kind, signature)
VALUES
-- a job that is cancelled is killed too
(1800, 3, 'absent', '\*\*\* (?:JOB|STEP) .{0,80}(?:CANCELLED|ON .{0,80}DUE TO)|DUE TO (?:TIME LIMIT|PREEMPTION)|[Jj]ob (?:was )?cancelled'),
(1804, 3, 'absent', 'Too many open files|\[Errno (?:2|13|24|28|122)\]|No space left|quota exceeded|does not exist'),
(7801, 3, 'absent', 'I/O error|EXT4-fs (?:error|warning)|XFS .{0,60}(?:error|[Ss]hutting down)|Remounting filesystem read-only|[Mm]edium [Ee]rror|controller is down');
