// Nanoseconds a line of two log parsers, on the lines of a file: crates FILE [LINES_TO_TRAIN]. One thread, processor time, best of three.
use drain3::{Config, MaskingInstruction, Matcher};
use logdrain::MinerBuilder;
use std::time::Instant;

// Of this thread, where the system tells it, else the time of day.
fn now(start: &Instant) -> u128 {
    std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split(' ').next().and_then(|ns| ns.parse().ok()))
        .unwrap_or_else(|| start.elapsed().as_nanos())
}

fn best<T>(lines: usize, mut run: impl FnMut() -> T) -> u128 {
    (0..3)
        .map(|_| {
            let start = Instant::now();
            let before = now(&start);
            std::hint::black_box(run());
            (now(&start) - before) / lines as u128
        })
        .min()
        .unwrap()
}

fn drain3_config(masked: bool) -> Config {
    let masks = [
        (r"\b\d{1,3}(\.\d{1,3}){3}\b", "<IP>"),
        (r"\b0x[0-9a-fA-F]+\b", "<HEX>"),
        (r"\b[-+]?\d+\b", "<NUM>"),
    ];
    let mut config = Config { similarity_threshold: 0.4, max_tokens: 10000, max_bytes: 65536, ..Config::default() };
    if masked {
        config.masking = masks
            .iter()
            .map(|(pattern, mask)| MaskingInstruction { pattern: pattern.to_string(), mask: mask.to_string() })
            .collect();
    }
    config
}

fn main() {
    let mut args = std::env::args().skip(1);
    let text = std::fs::read_to_string(args.next().expect("crates FILE [LINES_TO_TRAIN]")).expect("cannot read the file");
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let some = args.next().map_or(lines.len(), |n| n.parse().expect("not a number")).min(lines.len());

    for masked in [false, true] {
        let name = if masked { "three masks" } else { "no masks" };
        let train = best(lines.len(), || {
            let mut matcher = Matcher::new(drain3_config(masked));
            for line in &lines {
                let _ = matcher.add_log_message(line);
            }
        });
        let trained = drain3::train(&lines[..some], drain3_config(masked)).expect("cannot train");
        let found = best(lines.len(), || lines.iter().filter(|line| trained.match_id(line).is_some()).count());
        println!("drain3 0.3.0, {name}: train {train} ns, match {found} ns");
    }
    let train = best(lines.len(), || {
        let miner = MinerBuilder::new().build().expect("cannot make a miner");
        for line in &lines {
            miner.add(line);
        }
    });
    let trained = MinerBuilder::new().build().expect("cannot make a miner");
    for line in &lines[..some] {
        trained.add(line);
    }
    let found = best(lines.len(), || lines.iter().filter(|line| trained.match_only(line).is_some()).count());
    println!("logdrain 0.3.2, no masks: train {train} ns, match {found} ns");
}
