#!/usr/bin/env python3
"""strangers.py FOLDER OUT CHANGE[:FORM] [SEED]: writes a labelled set in another form that keeps its truth (README.md).
CHANGE: words, levels, stamps, json, names, prefix, case, cut, half, join, again, requeued, noise, skew, shorter, files.
FORM of stamps, json, names or prefix: by the seed; of join: how many nodes become one, 2; of again and requeued: failed;
of skew: seconds, 0.3; of files: one.
"""
import collections, csv, datetime, gzip, itertools, json, os, random, re, sys, uuid
from foreign import foreign_lines, shifted

source, out, change = sys.argv[1:4]
change, _, form = change.partition(':')
rnd = random.Random('%s %s %s' % (change, os.path.basename(source.rstrip('/')), (sys.argv[4:] + ['1'])[0]))
TERMINAL = r'\x1b\[[0-9;?]*[A-Za-z]'
TIME = (r'(?:(?:\d{4}[-/]\d\d[-/]\d\d|\d\d\.\d\d\.\d{4}|[A-Z][a-z]{2} [ \d]\d)[T _-])?\d\d:\d\d:\d\d(?:[.,]\d+)?'
        r'(?: ?(?:Z|[+-]\d\d:?\d\d))?')
STAMP = re.compile(r'@[0-9a-f]{24} |(?<![0-9A-Za-ln-z_.])(?:\w+=)?(?:\[%s\]|%s)(?::(?= ))?[ \t]?|'
                   r'(?<=[IWEF])20\d{6} \d\d:\d\d:\d\d\.\d+(?= )' % (TIME, TIME))
LEVEL = re.compile(r'[\[(<| ]*\b(?:INFO|WARN(?:ING)?|ERR(?:OR)?|DEBUG|CRIT(?:ICAL)?|FATAL|NOTICE|TRACE|SEVERE)\b(?!-)'
                   r'[\])>| ]*:?|\[(?:info|warn(?:ing)?|error|debug|notice|critical)\]|^(?=.{0,12}, \[)[DIWEF], |'
                   r'[IWEF](?=\d{4,8} )|"level":\d+,', re.A)
UNITS = set('s ms us ns m min h sec secs it MB GB KB kB MiB GiB KiB B M G k K e E nan inf NaN None True False true '
            'false INFO WARN WARNING ERROR DEBUG info level time ts msg log stream stdout stderr rank at Z T'.split())
SHIPPED = {
    'fluent-bit': lambda t, n, l: {'date': t.timestamp(), 'stream': 'stderr', 'logtag': 'F', 'log': l,
                                   'kubernetes': {'pod_name': n, 'namespace_name': 'train', 'container_name': 'main'}},
    'docker': lambda t, n, l: {'log': l + '\n', 'stream': 'stderr', 'time': t.strftime('%Y-%m-%dT%H:%M:%S.%f000Z')},
    'vector': lambda t, n, l: {'file': '/var/log/train/0.log', 'host': n, 'message': l, 'source_type': 'file',
                               'timestamp': t.strftime('%Y-%m-%dT%H:%M:%S.%fZ')},
    'loki': lambda t, n, l: {'labels': {'app': 'train', 'instance': n}, 'line': l,
                             'timestamp': t.strftime('%Y-%m-%dT%H:%M:%S.%f000Z')}}
HEAD_OR_WORD = r'(%s|%s|^[\w.-]+ +\||\w+\[\d+\]|[\w.]+:\d+\])|(?<![^\W_])[^\W\d_]+(?![^\W_])'
EAST, WEST = (datetime.timezone(datetime.timedelta(hours=h)) for h in (2, -5))
STAMPS = {'epoch': lambda t: '%.3f ' % t.timestamp(), 'syslog': lambda t: t.strftime('%b %e %H:%M:%S '),
          'local': lambda t: t.astimezone(WEST).strftime('%Y-%m-%d %H:%M:%S,%f')[:23] + ' ',
          'offset': lambda t: t.astimezone(EAST).isoformat(timespec='milliseconds') + ' ', 'none': lambda t: ''}
NAMES = {'uuid': lambda i: str(uuid.UUID(int=rnd.getrandbits(128))),
         'fqdn': lambda i: 'ip-10-31-%d-%d.eu-west-1.compute.internal' % (rnd.randrange(256), rnd.randrange(256)),
         'pod': lambda i: 'train-7f9c4-%s' % ''.join(rnd.choices('bcdfghjklmnpqrstvwxz2456789', k=5)),
         'ip': lambda i: '172.20.%d.%d' % (rnd.randrange(256), 1 + rnd.randrange(254))}
PREFIX = {'bar': '{n} | ', 'angle': '<{n}> ', 'arrow': '{n}> ', 'ray': '(worker pid={p}, host={n}) ',
          'rank': '[rank{r}]: ', 'number': '{r}: ', 'stdout': '<stdout>({r}) '}


def rows(name):
    with open(os.path.join(source, name), encoding='utf-8', newline='') as f:
        return list(csv.DictReader(f))


def shape(line):   # of words alone: equal for all reports of one kind
    words = re.findall(r'(?<!\w)[^\W\d]+(?!\w)', re.sub(TERMINAL, ' ', line))
    return ' '.join(w for w in words if w not in UNITS)


lines = []
for name in sorted(os.listdir(os.path.join(source, 'logs'))):
    with gzip.open(os.path.join(source, 'logs', name), 'rt', encoding='utf-8', newline='') as f:
        lines += list(csv.DictReader(f))
jobs, files_read = rows('jobs.csv'), {n: rows(n) for n in ('labels.csv', 'context.csv', 'iterations.csv')}
told = {(r['job_id'], r['node'], r['line_no']) for r in files_read['labels.csv'] if r['label'] != 'slow_iteration_line'}
good = {j['job_id'] for j in jobs if j['status'] != 'failed'}
of_job = {j: list(ls) for j, ls in itertools.groupby(lines, lambda l: l['job_id'])}
nodes = sorted({l['node'] for l in lines} | {n for j in jobs for n in j['faulty_nodes'].strip('{}').split(',') if n})
seen = collections.Counter((l['job_id'], l['node'], shape(l['line'])) for l in lines if l['job_id'] in good)
bad = {shape(l['line']) for l in lines if (l['job_id'], l['node'], l['line_no']) in told}
often = {s for (_, _, s), n in seen.items() if n >= 5} - bad
for kind, forms in (('stamps', STAMPS), ('json', SHIPPED), ('names', NAMES), ('prefix', PREFIX)):
    if change == kind and not form:
        form = rnd.choice([f for f in forms if '{r}' not in str(forms[f]) or lines[0]['rank']])
words, renamed = {}, {n: NAMES[form](i) for i, n in enumerate(nodes)} if change == 'names' else {}
named = re.compile(r'(?<![\w.-])(?:%s)(?![\w-])' % '|'.join(map(re.escape, sorted(nodes, key=len, reverse=True))))
length, first = collections.Counter((l['job_id'], l['node']) for l in lines), {}
for l in lines:
    if (l['job_id'], l['node'], l['line_no']) in told:
        first.setdefault((l['job_id'], l['node']), int(l['line_no']))


def word(m):   # a made-up word, the same in the whole set
    w = m.group(0)
    if m.group(1) or w in UNITS or w in nodes or w in 'JanFebMarAprMayJunJulAugSepOctNovDec':
        return w
    while w not in words:
        new = ''.join(rnd.choice('bdfgklmnprtvz') + rnd.choice('aeiou') for _ in range(max(1, min(4, len(w) // 2))))
        new = new[0] if len(w) == 1 else new
        if new not in words.values() and new not in UNITS or len(w) == 1 and len(words) > 20:
            words[w] = new
    return words[w].capitalize() if w[0].isupper() else words[w]


def rewritten(l):
    line = json.loads(l['line'])['log'].rstrip('\n') if l['line'].startswith('{"log":') else l['line']
    at, key = l['at'], (l['job_id'], l['node'])
    often_said = shape(line) in often and re.search(r'\d', line)
    if change == 'words' and often_said:
        return re.sub(HEAD_OR_WORD % (TERMINAL, named.pattern), word, line)
    if change == 'levels':
        return LEVEL.sub(' ', line[:70], count=1) + line[70:]
    if change == 'stamps' and not line.startswith('{'):
        l['ts'] = '' if form != 'none' else l['ts']
        return STAMPS[form](at) + re.sub(STAMP, '', re.sub(STAMP, '', line[:90], count=2)) + line[90:]
    if change == 'json':
        return json.dumps(SHIPPED[form](at, l['node'], line), ensure_ascii=False)
    if change == 'prefix':
        return PREFIX[form].format(n=l['node'], r=l['rank'], p=4000 + 7 * nodes.index(l['node'])) + line
    if change == 'cut' and int(l['line_no']) <= min(length[key] // 5, first.get(key, 10 ** 9) - 1):
        return None
    if change == 'half' and often_said:   # by ranks, which several may be on a node
        kind = key, shape(line), tuple(re.findall(r'\brank.?(\d+)|^(\d+): ', line))
        seen[kind] += 1
        return line if seen[kind] % 2 else None
    if change == 'case':
        parts = re.split(r'(%s|(?<=\d)[TZ](?=[\d ]))' % TERMINAL, line)
        return ''.join(p if i % 2 else p.lower() for i, p in enumerate(parts))
    return l['line']


def rename(text):
    return named.sub(lambda m: renamed.get(m.group(0), m.group(0)), text)


def join():   # so many neighbours are one node with as many ranks, whose lines stand in one stream by their times
    of = {}
    for job, group in itertools.groupby(sorted({(l['job_id'], l['node']) for l in lines}), lambda k: k[0]):
        names = [node for _, node in group]
        for i, node in enumerate(names):
            of[job, node] = names[i - i % int(form or 2)], i
    for l in lines:
        l['node'], l['rank'] = of[l['job_id'], l['node']]
    for j in jobs:
        j['nodes'] = len({n for (job, _), (n, _) in of.items() if job == j['job_id']})
        faulty = [n for n in j['faulty_nodes'].strip('{}').split(',') if n]
        j['faulty_nodes'] = '{%s}' % ','.join(sorted({of.get((j['job_id'], n), (n,))[0] for n in faulty}))
    return sorted(lines, key=lambda l: (l['job_id'], l['at']))


def moved(l, seconds, **columns):
    columns['ts'] = l['ts'] and (l['at'] + datetime.timedelta(seconds=seconds)).isoformat()
    return {**l, 'line': shifted(l['line'], l['at'], seconds), **columns}


def reports(job):   # its most frequent lines of good jobs, those at least half as frequent too
    found = [(l, shape(l['line'])) for l in of_job[job] if re.search(r'\d', l['line'])]
    number = collections.Counter(s for _, s in found if s in often)
    return [l for l, s in found if number[s] and 2 * number[s] >= max(number.values())]


def again():   # before each job stands a good one of its settings that was cut while it trained
    new = []
    for j in jobs:
        job = j['job_id']
        here = sorted({l['node'] for l in of_job[job]} | set(filter(None, j['faulty_nodes'].strip('{}').split(','))))
        others = [o['job_id'] for o in jobs if o['job_id'] in good - {job} and o['settings'] == j['settings']]
        large = [o for o in others if len({l['node'] for l in of_job[o]}) >= len(here)]
        if form != 'failed' or job not in good:
            other = rnd.choice(large or others)
            to = dict(zip(sorted({l['node'] for l in of_job[other]}), here))
            if change == 'requeued':   # of so many nodes one was another
                to[rnd.choice(sorted(to))] = here[-1].rstrip('0123456789') + str(101 * rnd.randrange(60, 90))
            name = re.compile(r'(?<![\w.-])(?:%s)(?![\w-])' % '|'.join(map(re.escape, to)))
            trained = [l['at'] for l in reports(other)]
            end = min(trained) + rnd.random() * (max(trained) - min(trained))
            gap = rnd.uniform(15, 90)
            by = (min(l['at'] for l in of_job[job]) - end).total_seconds() - gap
            for l in of_job[other]:
                if l['node'] in to and l['at'] <= end:
                    line = name.sub(lambda m: to[m.group(0)], l['line'])
                    new.append(moved({**l, 'line': line}, by, job_id=job, node=to[l['node']], key=None))
            said = rnd.choice(['', '', '[launcher] worker group is gone, restarting: attempt 1 of 3',
                               'systemd[1]: trainer.service: Scheduled restart job, restart counter is at 1.'])
            if said:
                new.append({**new[-1], 'node': to[min(to)], 'line': said,
                            'ts': (end + datetime.timedelta(seconds=by + gap / 2)).isoformat()})
        new += of_job[job]
    return new


def requeued():   # the same on other nodes, and each attempt in a file of its own
    return [{**l, 'source': ('attempt_0' if l['key'] is None else 'attempt_1') + l.get('source', '')} for l in again()]


def noise():   # every fifth line is another program's; of these each job has another choice
    new = []
    for job in of_job:
        made = foreign_lines(rnd)
        for _, group in itertools.groupby(of_job[job], lambda l: l['node']):
            own = list(group)
            first, last = own[0]['at'], own[-1]['at']
            times = sorted(first + rnd.random() * (last - first) for _ in range(round(len(own) / 4)))
            for l in own:
                while times and times[0] < l['at']:
                    at = times.pop(0)
                    new.append({**l, 'line': made(at, l['node']), 'ts': at.isoformat(), 'key': None})
                    if l['line'].startswith('{"log":'):
                        new[-1]['line'] = json.dumps(SHIPPED['docker'](at, l['node'], new[-1]['line']))
                new.append(l)
    return new


def skew():
    off = collections.defaultdict(lambda: round(rnd.gauss(0, float(form or 0.3)), 3))
    return [moved(l, off[l['job_id'], l['node']]) for l in lines]


def shorter():   # good jobs stop after a third of their training
    new = []
    for job in of_job:
        trained = reports(job) if job in good else []
        if trained:
            first, last = min(l['at'] for l in trained), max(l['at'] for l in trained)
            until = {l['node']: l['at'] for l in trained}
            stop, gone = first + (last - first) / 3, (last - first).total_seconds() * 2 / 3
        for l in of_job[job]:
            if not trained or l['at'] <= stop:
                new.append(l)
            elif l['at'] > until.get(l['node'], min(until.values())):
                new.append(moved(l, -gone))
    return new


def files():   # what goes to stderr stands in a file of its own, and what has no stamp has no time
    side = {(r['job_id'], r['node'], r['line_no']) for n in ('labels.csv', 'context.csv') for r in files_read[n]}
    for l in lines:
        severe = LEVEL.search(l['line'][:70])
        err = l['key'] in told | side or severe and re.search('WARN|ERR|CRIT|FATAL|SEVERE|[WEF]', severe.group(0))
        l['source'] = 'stderr' if err else 'stdout'
        l['ts'] = l['ts'] if STAMP.search(l['line'][:90]) or l['line'].startswith('{') else ''
    fresh = sorted(lines, key=lambda l: (l['job_id'], l['node'], l['source'] == 'stderr'))
    return [{k: v for k, v in l.items() if k != 'source' or form != 'one'} for l in fresh]


for job_lines in of_job.values():   # a line without a time has that of the one before
    for a, b in zip([None] + job_lines, job_lines):
        b['key'] = b['job_id'], b['node'], b['line_no']
        b['at'] = datetime.datetime.fromisoformat(b['ts']) if b['ts'] else a['at']
WHOLE = {f.__name__: f for f in (join, again, requeued, noise, skew, shorter, files)}
place = {}
if change in WHOLE:
    ends, lines = collections.Counter(), WHOLE[change]()
    for l in lines:
        ends[l['job_id'], l['node']] += 1
        l['line_no'] = ends[l['job_id'], l['node']]
        place[l['key']] = l['node'], l['line_no']
    for name in ('labels.csv', 'context.csv'):
        for r in files_read[name]:
            r['node'], r['line_no'] = place.get((r['job_id'], r['node'], r['line_no']), (None, None))


def put(f, row):   # a row of CSV; Python's writer leaves a lone carriage return without quotes, which COPY refuses
    f.write(','.join('"%s"' % v.replace('"', '""') if re.search('[,"\r\n]', v) else v for v in map(str, row)) + '\n')


os.makedirs(os.path.join(out, 'logs'), exist_ok=True)
kept = set()
with gzip.open(os.path.join(out, 'logs', 'all.csv.gz'), 'wt', encoding='utf-8', newline='') as f:
    put(f, [k for k in lines[0] if k not in ('at', 'key')])
    for l in lines:
        l['line'] = rewritten(l)
        if l['line'] is not None:
            kept.add((l['job_id'], l['node'], l['line_no']))
            put(f, [rename(v) if k in ('node', 'line') else v for k, v in l.items() if k not in ('at', 'key')])
for name, rs in list(files_read.items()) + [('jobs.csv', jobs)]:
    with open(os.path.join(out, name), 'w', encoding='utf-8', newline='') as f:
        fields = open(os.path.join(source, name)).readline().strip().split(',')
        put(f, fields)
        for r in rs:
            if 'line_no' not in r or (r['job_id'], r['node'], r['line_no']) in kept:
                put(f, [rename(r[k]) if k in ('node', 'faulty_nodes') else r[k] for k in fields])
