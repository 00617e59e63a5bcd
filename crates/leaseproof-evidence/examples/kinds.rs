//! What reading makes of files: `cargo run -p leaseproof-evidence --example kinds -- FILE…`.
#![allow(clippy::print_stdout)]

use leaseproof_evidence::input::Input;
use leaseproof_evidence::options::Options;
use std::collections::BTreeMap;

fn main() {
    let inputs: Vec<Input> = std::env::args().skip(1).map(|path| Input::Path(path.into())).collect();
    let evidence = leaseproof_evidence::read(&inputs, &Options::default());
    for (index, file) in evidence.files.iter().enumerate() {
        println!(
            "== {} lines {} unknown {} {:?}",
            file.name, file.lines, file.not_understood, file.formats
        );
        println!("   {:?}", file.clock);
        println!(
            "   gaps n={} median {:?} p99 {:?} widest {:?}",
            file.gaps.count,
            file.gaps.median,
            file.gaps.p99,
            file.gaps.widest.first().map(|gap| (gap.took, gap.from.line))
        );
        for (line, text) in &file.examples {
            println!("   ?{line}: {}", text.chars().take(150).collect::<String>());
        }
        let mut kinds: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for record in evidence
            .records
            .iter()
            .filter(|record| record.place.file.0 as usize == index)
        {
            *kinds.entry((record.by, record.says.name())).or_default() += 1;
        }
        println!("   {kinds:?}");
    }
    for problem in &evidence.problems {
        println!("!! {:?} {:?} {}", problem.file, problem.kind, problem.says);
    }
}
