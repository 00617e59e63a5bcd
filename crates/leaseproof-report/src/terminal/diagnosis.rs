//! What the files of an incident come to, in the order that a tired person needs: was there a breach, why, what is
//! missing, and what to do and not to do.

use super::paper::{Paint, Paper};
use super::{TerminalStyle, of_verdict};
use crate::visible::visible;
use leaseproof_model::diagnosis::{Cause, Cited, Confidence, Diagnosis, Seen};
use leaseproof_model::verdict::Verdict;

/// The most lines that are shown of one cause; the document has all.
const LINES: usize = 6;
/// The most causes that are shown with their lines.
const WHOLE: usize = 3;

/// The whole text.
#[must_use]
pub fn render(diagnosis: &Diagnosis, style: &TerminalStyle) -> String {
    let mut paper = Paper::new(style);
    headline(&mut paper, diagnosis);
    broken(&mut paper, diagnosis);
    causes(&mut paper, diagnosis);
    next(&mut paper, diagnosis);
    missing(&mut paper, diagnosis);
    files(&mut paper, diagnosis);
    paper.finish()
}

fn headline(paper: &mut Paper, diagnosis: &Diagnosis) {
    let word = match (diagnosis.verdict, diagnosis.breach.seen) {
        (Verdict::Proven, _) => "nothing wrong",
        (Verdict::CannotTell, Seen::Possibly) => "possibly violated",
        (other, _) => other.as_str(),
    };
    paper.line(
        0,
        &[
            (of_verdict(diagnosis.verdict), word),
            (Paint::Plain, ": "),
            (Paint::Plain, &visible(&diagnosis.breach.says)),
        ],
    );
    if let Some(loss) = &diagnosis.loss {
        paper.line(2, &[(Paint::Plain, &visible(loss))]);
    }
    if let Some(key) = &diagnosis.key {
        paper.line(2, &[(Paint::Dim, "key "), (Paint::Dim, &visible(key))]);
    }
}

fn broken(paper: &mut Paper, diagnosis: &Diagnosis) {
    if diagnosis.breach.broken.is_empty() {
        return;
    }
    head(paper, "broken");
    for it in &diagnosis.breach.broken {
        let name = format!("{} {} ({}): ", visible(&it.rule), visible(&it.name), it.seen);
        paper.line(2, &[(Paint::Bold, &name), (Paint::Plain, &visible(&it.says))]);
        lines(paper, &it.evidence, 3);
    }
}

fn causes(paper: &mut Paper, diagnosis: &Diagnosis) {
    head(paper, "causes");
    if diagnosis.causes.is_empty() {
        paper.line(2, &[(Paint::Plain, "no cause is on record in these files")]);
    }
    for cause in &diagnosis.causes {
        let paint = match cause.confidence {
            Confidence::Certain => Paint::Bad,
            Confidence::Likely => Paint::Warn,
            Confidence::Possible => Paint::Dim,
        };
        let place = format!("{}. ", cause.rank);
        let sure = cause.confidence.to_string();
        let what = format!(", {} ({}): ", visible(&cause.id), visible(&cause.rule));
        let side = format!("[{}]", cause.boundary);
        paper.hanging(
            2,
            5,
            &[
                (Paint::Bold, &place),
                (paint, &sure),
                (Paint::Plain, &what),
                (Paint::Plain, &visible(&cause.says)),
                (Paint::Plain, " "),
                (Paint::Dim, &side),
            ],
        );
        if usize::try_from(cause.rank).is_ok_and(|rank| rank <= WHOLE) {
            lines(paper, &cause.evidence, LINES);
            against(paper, cause);
        }
    }
}

fn against(paper: &mut Paper, cause: &Cause) {
    if cause.against.is_empty() {
        return;
    }
    paper.line(5, &[(Paint::Dim, "against it, or misleading:")]);
    lines(paper, &cause.against, LINES);
}

fn lines(paper: &mut Paper, cited: &[Cited], most: usize) {
    for line in cited.iter().take(most) {
        let place = format!("{}:{}  ", visible(&line.file), line.line);
        paper.hanging(7, 9, &[(Paint::Dim, &place), (Paint::Plain, &visible(&line.text))]);
        if let Some(why) = &line.why {
            paper.hanging(9, 11, &[(Paint::Dim, "^ "), (Paint::Dim, &visible(why))]);
        }
    }
    if cited.len() > most {
        let more = format!("and {} lines more (--json)", cited.len() - most);
        paper.line(7, &[(Paint::Dim, &more)]);
    }
}

fn next(paper: &mut Paper, diagnosis: &Diagnosis) {
    let Some(first) = diagnosis.causes.first() else { return };
    head(paper, "what to do");
    paper.line(2, &[(Paint::Good, "do  "), (Paint::Plain, &visible(&first.next))]);
    paper.line(2, &[(Paint::Bad, "but "), (Paint::Plain, &visible(&first.not))]);
}

fn missing(paper: &mut Paper, diagnosis: &Diagnosis) {
    if diagnosis.missing.is_empty() {
        return;
    }
    head(paper, "missing, what would decide most first");
    for it in &diagnosis.missing {
        paper.line(2, &[(Paint::Plain, &visible(&it.what))]);
        // Never wrapped: it is there to be copied.
        paper.verbatim(4, &visible(&it.how));
    }
}

fn files(paper: &mut Paper, diagnosis: &Diagnosis) {
    if !diagnosis.notes.is_empty() {
        head(paper, "to know");
        for note in &diagnosis.notes {
            paper.line(2, &[(Paint::Plain, &visible(note))]);
        }
    }
    if diagnosis.lanes.is_empty() {
        return;
    }
    head(paper, "files");
    for lane in &diagnosis.lanes {
        let formats = if lane.formats.is_empty() {
            "not recognised".to_owned()
        } else {
            lane.formats.join(", ")
        };
        let owner = lane
            .owner
            .as_ref()
            .map(|owner| format!(", of {}", visible(owner)))
            .unwrap_or_default();
        let lost = diagnosis.not_understood.iter().find(|it| it.file == lane.file);
        let lost = lost
            .map(|it| format!("; nothing was made of {} lines", it.lines))
            .unwrap_or_default();
        let text = format!("  {}{owner}; clock: {}{lost}", visible(&formats), lane.clock);
        paper.hanging(2, 4, &[(Paint::Bold, &visible(&lane.file)), (Paint::Plain, &text)]);
    }
}

fn head(paper: &mut Paper, text: &str) {
    paper.gap_if(true);
    paper.line(0, &[(Paint::Bold, text)]);
}
