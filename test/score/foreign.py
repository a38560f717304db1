"""For strangers.py: what other programs of a machine write into the same log, and stamps at other times."""
import datetime, re

DATES = [(r'\d{4}-\d\d-\d\d', '%Y-%m-%d'), (r'\d{4}/\d\d/\d\d', '%Y/%m/%d'), (r'\d\d\.\d\d\.\d{4}', '%d.%m.%Y'),
         (r'20\d{6}', '%Y%m%d'), (r'[A-Z][a-z]{2} [ \d]\d', '%b %e')]
TIMES = re.compile(r'@([0-9a-f]{24}) |(?<![\d.])(1[78]\d{8})(\d{3})?(?!\d)|'
                   r'(?:(%s)([T _-]))?(?<![\d:])(\d\d:\d\d:\d\d)([.,]\d+)?(?!\d*:)' % '|'.join(d for d, _ in DATES))


def shifted(line, at, seconds):   # with each stamp that is near a time, in any zone, so much later
    def stamp(m):
        tai, epoch, ms, day, between, time, part = m.groups()
        if tai:
            ns = int(tai[:16], 16) * 10 ** 9 + int(tai[16:], 16) + round(seconds * 1e9)
            return '@%016x%08x ' % divmod(ns, 10 ** 9)
        if epoch:
            near = abs(int(epoch) - at.timestamp()) < 86400
            return m.group(0) if not near else '%.0f' % (int(epoch + ms) + seconds * 1000) if ms else \
                '%.0f' % (int(epoch) + seconds)
        h, mi, s = map(int, time.split(':'))
        if 120 < (h * 3600 + mi * 60 + s - at.timestamp()) % 900 < 780 or h > 23:
            return m.group(0)
        form = next((f for d, f in DATES if day and re.fullmatch(d, day)), None)
        date = datetime.datetime.strptime('%d ' % at.year + day, '%Y ' + form.replace('%e', '%d')) \
            if form == '%b %e' else datetime.datetime.strptime(day, form) if form else at.replace(tzinfo=None)
        digits = len(part or ' ') - 1
        ns = int((part or '.%06d' % at.microsecond)[1:].ljust(9, '0')[:9]) + round(seconds * 1e9)
        then = date.replace(hour=h, minute=mi, second=s, microsecond=0) + datetime.timedelta(seconds=ns // 10 ** 9)
        rest = ('%09d' % (ns % 10 ** 9)).ljust(digits, '0')[:digits] if part else ''
        return (then.strftime(form) + between if form else '') + then.strftime('%H:%M:%S') + (part or '')[:1] + rest
    return TIMES.sub(stamp, line)


SYSLOG, ISO, KLOG = '%b %e %H:%M:%S {n} ', '%Y-%m-%dT%H:%M:%S.%fZ ', '%m%d %H:%M:%S.%f '
FOREIGN = [
    (SYSLOG, 'sshd[{p}]: Accepted publickey for deploy from {ip} port {q} ssh2: ED25519 SHA256:{x}'),
    (SYSLOG, 'sshd[{p}]: Failed password for invalid user {w} from {ip} port {q} ssh2'),
    (SYSLOG, 'sshd[{p}]: error: maximum authentication attempts exceeded for root from {ip} port {q} ssh2 [preauth]'),
    (SYSLOG, 'CRON[{p}]: (root) CMD (test -x /usr/sbin/{w} && /usr/sbin/{w} --quiet)'),
    (SYSLOG, 'systemd[1]: Starting {w}-tidy.service - Clean up of old {w} files...'),
    (SYSLOG, 'systemd[1]: {w}-tidy.service: Deactivated successfully.'),
    (SYSLOG, 'systemd[1]: {w}.timer: Failed to queue unit startup job: Unit {w}.service not found.'),
    (SYSLOG, 'chronyd[{p}]: Selected source {ip} (ntp-{w}.example.net)'),
    (SYSLOG, 'chronyd[{p}]: Source {ip} replaced with {ip} (ntp-{w}.example.net)'),
    (SYSLOG, 'kernel: [{u}] perf: interrupt took too long ({q} > {p}), lowering max_sample_rate to {q}'),
    (SYSLOG, 'kernel: [{u}] EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0)'),
    (SYSLOG, 'kernel: [{u}] audit: type=1400 audit({u}:{p}): apparmor="ALLOWED" operation="open" profile="{w}"'),
    (SYSLOG, 'kernel: [{u}] IPv6: ADDRCONF(NETDEV_CHANGE): veth{x}: link becomes ready'),
    (SYSLOG, 'rsyslogd: action \'action-{p}-builtin:omfwd\' suspended (module \'builtin:omfwd\'), retry 0.'),
    ('I' + KLOG, ' {p} kubelet.go:2429] "SyncLoop (PLEG): event for pod" pod="{w}/{w}-{x}"'),
    ('W' + KLOG, ' {p} reflector.go:347] watch of *v1.{w} ended with: too old resource version: {q} ({p})'),
    ('E' + KLOG, ' {p} remote_runtime.go:116] "StopPodSandbox from runtime service failed" podSandboxID="{x}"'),
    ('I' + KLOG, ' {p} prober.go:107] "Probe succeeded" probeType="Liveness" pod="monitoring/{w}-{x}"'),
    (ISO, 'level=info caller=collector.go:169 msg="collected" collector={w} duration_seconds=0.0{p}'),
    (ISO, 'level=warn caller=scrape.go:1310 msg="Append failed" err="out of order sample" target={w}:9100'),
    (ISO, '[dcgm-exporter] GPU 3 DCGM_FI_DEV_ECC_SBE_VOL_TOTAL=12 DCGM_FI_DEV_GPU_TEMP=6{q1} power={p}W'),
    (ISO, 'WARN  vector::sources::file: Currently ignoring file too small to fingerprint. path=/var/log/{w}.log'),
    (ISO, 'ERROR telegraf: [inputs.{w}] Error in plugin: connect: connection refused (127.0.0.1:{q})'),
    ('', '{ip} - - [%d/%b/%Y:%H:%M:%S +0000] "GET /healthz HTTP/1.1" 200 {q1} "-" "kube-probe/1.29"'),
    ('', '{ip} - - [%d/%b/%Y:%H:%M:%S +0000] "GET /{w} HTTP/1.1" 404 153 "-" "curl/8.5.0"'),
    ('', '{n}:{p}:{q} [0] NCCL INFO Channel 0{q1}/0 : 0[0] -> 1[1] via P2P/CUMEM/read'),
    ('', '{n}:{p}:{q} [0] NCCL INFO NET/IB : No device found.'),
    ('', '/usr/lib/python3/dist-packages/{w}/compat.py:{p}: DeprecationWarning: {w}.{x} is deprecated, use {w}.v2'),
    ('', '/opt/venv/lib/python3.11/site-packages/{w}/__init__.py:{q1}: UserWarning: option {w} has no effect'),
    ('%Y-%m-%d %H:%M:%S,%f ', 'WARNING {w}-agent: setting "{w}.interval" is deprecated and will be removed'),
    ('%Y-%m-%d %H:%M:%S ', '[ERROR] backup-agent: snapshot of /home/{w} skipped: quota file not readable'),
    ('%Y-%m-%d %H:%M:%S ', '[INFO] node-health: {q1} of {q1} checks passed in 0.{p} s')]
WORDS = ('logrotate sysstat certwatch apt postfix snapd fwupd collectd mdadm smart ipmi aide auditd nfsmount multipath '
         'motd plocate tuned dbus polkit udisks packagekit irqbalance avahi').split()


def foreign_lines(rnd):   # of one job: a few kinds of lines, some often, with words of its own
    kinds = [(*k, rnd.choice(WORDS), rnd.random() ** 2) for k in rnd.sample(FOREIGN, 8)]

    def line(at, node):
        stamp, text, word, _ = rnd.choices(kinds, [k[3] for k in kinds])[0]
        text = (at.strftime(stamp) + text if stamp else at.strftime(text) if '%' in text else text)
        return text.format(n=node, w=word, p=rnd.randrange(300, 9999), q=rnd.randrange(10000, 60000),
                           q1=rnd.randrange(1, 9), x='%08x' % rnd.getrandbits(32),
                           ip='203.0.113.%d' % rnd.randrange(1, 250), u='%.6f' % (400000 + at.timestamp() % 100000))
    return line
