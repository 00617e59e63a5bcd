//! What changed inputs begin as: the samples, a family of readers each.

use crate::change::{Random, change};
use std::io::Write;
use std::path::Path;

/// One family of readers.
pub struct Family {
    pub name: &'static str,
    /// Its samples.
    own: Vec<Vec<u8>>,
    /// Samples of the others.
    others: Vec<Vec<u8>>,
    packed: bool,
}

const NAMES: [&str; 13] = [
    "clients",
    "clock",
    "consul",
    "containers",
    "etcd",
    "journal",
    "jvm",
    "network",
    "public",
    "redis",
    "runtimes",
    "system",
    "zookeeper",
];

/// All of them; the last packs what it changes, and changes what is packed.
pub fn families(samples: &Path) -> Vec<Family> {
    let all: Vec<(&str, Vec<Vec<u8>>)> = NAMES
        .iter()
        .map(|name| {
            let mut found = Vec::new();
            collect(&samples.join(name), &mut found);
            (*name, found)
        })
        .collect();
    let mut families: Vec<Family> = all
        .iter()
        .map(|(name, own)| Family {
            name,
            own: own.clone(),
            others: all
                .iter()
                .filter(|(other, _)| other != name)
                .flat_map(|(_, own)| own.clone())
                .collect(),
            packed: false,
        })
        .collect();
    families.push(Family {
        name: "packed",
        own: all.iter().flat_map(|(_, own)| own.clone()).collect(),
        others: Vec::new(),
        packed: true,
    });
    families
}

fn collect(under: &Path, found: &mut Vec<Vec<u8>>) {
    let mut paths: Vec<_> = std::fs::read_dir(under)
        .expect("the samples")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, found);
        } else {
            found.push(std::fs::read(&path).expect("a sample"));
        }
    }
}

impl Family {
    /// Some lines of a sample, changed.
    pub fn input(&self, random: &mut Random) -> Vec<u8> {
        let mut input = window(&self.own, random);
        let other = if self.others.is_empty() || random.below(5) > 0 {
            window(&self.own, random)
        } else {
            window(&self.others, random)
        };
        if !self.packed || random.below(2) == 0 {
            change(&mut input, &other, random);
        }
        if self.packed {
            input = pack(&input, &other, random);
            if random.below(3) > 0 {
                change(&mut input, &other, random);
            }
        }
        input
    }
}

/// At most sixty lines of one sample, from its begin or from anywhere.
fn window(samples: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let sample = random.of(samples);
    let lines: Vec<&[u8]> = sample.split_inclusive(|byte| *byte == b'\n').collect();
    let from = if random.below(2) == 0 {
        0
    } else {
        random.below(lines.len())
    };
    let many = 1 + random.below(60);
    lines
        .iter()
        .skip(from)
        .take(many)
        .flat_map(|line| line.iter().copied())
        .collect()
}

fn pack(input: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = input.to_vec();
    if random.below(2) == 0 {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, content) in [("a/one.log", input), ("two", other)] {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            builder
                .append_data(&mut header, name, content)
                .expect("memory takes it");
        }
        bytes = builder.into_inner().expect("memory takes it");
    }
    match random.below(3) {
        0 => {
            let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            gz.write_all(&bytes).expect("memory takes it");
            gz.finish().expect("memory takes it")
        }
        1 => ruzstd::encoding::compress_to_vec(&bytes[..], ruzstd::encoding::CompressionLevel::Fastest),
        _ => bytes,
    }
}
