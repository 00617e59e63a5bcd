//! The folder that all files lie in: said once, and left out of each name.

use leaseproof_model::diagnosis::{Cited, Diagnosis};

/// The folder, with the `/` at its end, and the diagnosis with names that are seen from it.
pub(crate) fn without(diagnosis: &Diagnosis) -> (Option<String>, Diagnosis) {
    let mut short = diagnosis.clone();
    let Some(folder) = folder(diagnosis) else {
        return (None, short);
    };
    let cut = |text: &mut String| {
        if text.contains(&*folder) {
            *text = text.replace(&*folder, "");
        }
    };
    let cited = |lines: &mut Vec<Cited>| lines.iter_mut().for_each(|line| cut(&mut line.file));
    short.breach.broken.iter_mut().for_each(|it| cited(&mut it.evidence));
    for cause in &mut short.causes {
        cited(&mut cause.evidence);
        cited(&mut cause.against);
    }
    let covered = &mut short.breach.covered;
    for files in [&mut covered.owner, &mut covered.store, &mut covered.resource] {
        files.iter_mut().for_each(cut);
    }
    short.lanes.iter_mut().for_each(|lane| cut(&mut lane.file));
    let parts = short.picture.lanes.iter_mut().flat_map(|lane| &mut lane.parts);
    parts.for_each(|part| {
        cut(&mut part.says);
        cited(&mut part.lines);
    });
    for it in &mut short.not_understood {
        cut(&mut it.file);
        cited(&mut it.examples);
    }
    short.notes.iter_mut().for_each(cut);
    short.missing.iter_mut().for_each(|it| cut(&mut it.what));
    (Some(folder), short)
}

/// What all names begin with, up to a `/`; short ones stay as they are.
fn folder(diagnosis: &Diagnosis) -> Option<String> {
    let mut names = diagnosis.lanes.iter().map(|lane| lane.file.as_str());
    let first = names.next()?;
    let mut common = first.rfind('/').map_or("", |at| &first[..=at]);
    for name in names {
        while !name.starts_with(common) {
            let shorter = common.trim_end_matches('/').rfind('/');
            common = shorter.map_or("", |at| &common[..=at]);
        }
    }
    (common.len() > 3).then(|| common.to_owned())
}
