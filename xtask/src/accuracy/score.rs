//! One diagnosis against one truth.

use super::document::{Cause, Diagnosis};
use crate::incidents::table::Answer;
use crate::incidents::truth::Truth;

/// How it did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Score {
    /// The first cause names the fault, or what is wrong with the client; for a quiet incident: no cause was given.
    pub top1: bool,
    /// One of the first three does.
    pub top3: bool,
    /// The first cause is right, and certain.
    pub certain: bool,
    /// No cause was given, or the verdict is that it cannot tell.
    pub cannot_tell: bool,
    /// What was called certain and is wrong. Must be empty.
    pub certain_but_wrong: Vec<String>,
    /// What it named first.
    pub first: String,
}

impl Score {
    /// Compares them.
    pub fn of(diagnosis: &Diagnosis, truth: &Truth) -> Self {
        let is = |cause: &Cause, answers: &[Answer]| {
            answers
                .iter()
                .any(|it| it.0 == cause.rule && it.1 == diagnosis.boundary_of(cause))
        };
        // Without what the runtime, the kernel or the engine says, nothing tells what stopped it: that it stood still, for
        // no reason on record, is then all that can be known, and true.
        let unattributed = truth.missing.iter().any(|it| it == "runtime")
            && truth.fault.iter().any(|it| it.0 == "LP025" && it.1 == "runtime");
        let right = |cause: &Cause| {
            is(cause, &truth.fault)
                || is(cause, &truth.client_fault)
                || (unattributed && cause.rule == "LP023" && diagnosis.boundary_of(cause) == "runtime")
        };
        let quiet = truth.fault.is_empty();
        let causes = &diagnosis.causes;
        let said = |cause: &Cause| format!("{}/{}/{}", cause.rule, diagnosis.boundary_of(cause), cause.confidence);
        let mut wrong: Vec<String> = causes
            .iter()
            .filter(|cause| cause.confidence == "certain" && !right(cause) && !is(cause, &truth.also))
            .map(&said)
            .collect();
        // Nothing else than these is a verdict; "cannot tell" is never wrong, only useless.
        if diagnosis.verdict != "cannot-tell" && !truth.verdicts.contains(&diagnosis.verdict) {
            wrong.push(format!("verdict {}", diagnosis.verdict));
        }
        Self {
            top1: match quiet {
                true => causes.iter().all(|cause| is(cause, &truth.also)),
                false => causes.first().is_some_and(right),
            },
            top3: match quiet {
                true => causes.iter().all(|cause| is(cause, &truth.also)),
                false => causes.iter().take(3).any(right),
            },
            certain: !quiet
                && causes
                    .first()
                    .is_some_and(|cause| cause.confidence == "certain" && right(cause)),
            cannot_tell: causes.is_empty() || diagnosis.verdict == "cannot-tell",
            certain_but_wrong: wrong,
            first: causes.first().map_or_else(|| "nothing".to_owned(), said),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of documents and truths, and what must come of them: top-1, top-3, certain, cannot tell, wrong.
    const TABLE: &[(&str, &str, &str, [bool; 4], usize)] = &[
        (
            "first-and-certain-ok",
            FROZEN,
            r#"{"verdict":"proven","causes":[{"rule":"LP025","rank":1,"confidence":"certain","boundary":"runtime"}]}"#,
            [true, true, true, false],
            0,
        ),
        (
            "first-by-rank-ok",
            FROZEN,
            r#"{"verdict":"proven","causes":[{"rule":"LP013","rank":2,"confidence":"possible","boundary":"network"},{"rule":"LP007","rank":1,"confidence":"likely","boundary":"configuration"}]}"#,
            [true, true, false, false],
            0,
        ),
        (
            "boundary-of-the-document-ok",
            FROZEN,
            r#"{"verdict":"proven","boundary":"runtime","causes":[{"rule":"LP025","rank":1,"confidence":"likely"}]}"#,
            [true, true, false, false],
            0,
        ),
        (
            "third-bad",
            FROZEN,
            r#"{"verdict":"proven","causes":[{"rule":"LP013","confidence":"likely","boundary":"network"},{"rule":"LP017","confidence":"likely","boundary":"store"},{"rule":"LP025","confidence":"likely","boundary":"runtime"}]}"#,
            [false, true, false, false],
            0,
        ),
        (
            "fourth-bad",
            FROZEN,
            r#"{"verdict":"proven","causes":[{"rule":"LP013","confidence":"likely","boundary":"network"},{"rule":"LP017","confidence":"likely","boundary":"store"},{"rule":"LP018","confidence":"likely","boundary":"store"},{"rule":"LP025","confidence":"likely","boundary":"runtime"}]}"#,
            [false, false, false, false],
            0,
        ),
        (
            "right-rule-wrong-side-bad",
            FROZEN,
            r#"{"verdict":"proven","causes":[{"rule":"LP025","confidence":"certain","boundary":"store"}]}"#,
            [false, false, false, false],
            1,
        ),
        (
            "certain-of-another-bad",
            FROZEN,
            r#"{"verdict":"proven","causes":[{"rule":"LP025","confidence":"certain","boundary":"runtime"},{"rule":"LP013","confidence":"certain","boundary":"network"}]}"#,
            [true, true, true, false],
            1,
        ),
        (
            "certain-of-what-is-true-besides-ok",
            FROZEN,
            r#"{"verdict":"proven","causes":[{"rule":"LP025","confidence":"certain","boundary":"runtime"},{"rule":"LP024","confidence":"certain","boundary":"resource"}]}"#,
            [true, true, true, false],
            0,
        ),
        (
            "the-clients-own-fault-ok",
            RETAINED,
            r#"{"verdict":"violated","causes":[{"rule":"LP004","confidence":"certain","boundary":"lock-client"}]}"#,
            [true, true, true, false],
            0,
        ),
        (
            "the-client-blamed-for-nothing-bad",
            FROZEN,
            r#"{"verdict":"violated","causes":[{"rule":"LP004","confidence":"certain","boundary":"lock-client"}]}"#,
            [false, false, false, false],
            2,
        ),
        (
            "a-breach-called-proven-bad",
            RETAINED,
            r#"{"verdict":"proven","causes":[{"rule":"LP025","confidence":"likely","boundary":"runtime"}]}"#,
            [true, true, false, false],
            1,
        ),
        (
            "cannot-tell-ok",
            RETAINED,
            r#"{"verdict":"cannot-tell","causes":[{"rule":"LP025","confidence":"possible","boundary":"runtime"}]}"#,
            [true, true, false, true],
            0,
        ),
        (
            "nothing-bad",
            RETAINED,
            r#"{"verdict":"cannot-tell","causes":[]}"#,
            [false, false, false, true],
            0,
        ),
        (
            "quiet-ok",
            QUIET,
            r#"{"verdict":"proven","causes":[]}"#,
            [true, true, false, true],
            0,
        ),
        (
            "quiet-with-a-notice-ok",
            QUIET,
            r#"{"verdict":"proven","causes":[{"rule":"LP024","confidence":"certain","boundary":"resource"}]}"#,
            [true, true, false, false],
            0,
        ),
        (
            "quiet-with-a-cause-bad",
            QUIET,
            r#"{"verdict":"proven","causes":[{"rule":"LP023","confidence":"certain","boundary":"runtime"}]}"#,
            [false, false, false, false],
            1,
        ),
    ];

    const FROZEN: &str = r#"verdicts = ["proven", "cannot-tell"]
        fault = [["LP025", "runtime"], ["LP007", "configuration"]]
        client_fault = []
        also = [["LP024", "resource"]]"#;
    const RETAINED: &str = r#"verdicts = ["violated"]
        fault = [["LP025", "runtime"]]
        client_fault = [["LP004", "lock-client"]]
        also = []"#;
    const QUIET: &str = r#"verdicts = ["proven", "cannot-tell"]
        fault = []
        client_fault = []
        also = [["LP024", "resource"]]"#;

    fn truth(part: &str) -> Truth {
        let rest = r#"
            id = "001"
            by = "ours"
            kind = "frozen"
            client = "lab"
            store = "redis"
            full = true
            missing = []
            false_suspects = []
            [breach]
            acted_late = false
            late_writes = 0
            stale_accepted = 0
            straddling_only = false
            tokens = []
            [story]
            begin = ""
            end = ""
            fault = ""
            style = ""
            zone = 0
            ttl_ms = 3000
            heartbeat_ms = 1000
            fenced = false"#;
        toml::from_str(&format!("{part}\n{rest}")).expect("a truth")
    }

    #[test]
    fn scores() {
        for (name, truth_text, document, [top1, top3, certain, cannot_tell], wrong) in TABLE {
            let document = document.replacen('{', r#"{"schema":"leaseproof.diagnosis/1","#, 1);
            let diagnosis = Diagnosis::read(document.as_bytes()).expect(name);
            let score = Score::of(&diagnosis, &truth(truth_text));
            let got = [score.top1, score.top3, score.certain, score.cannot_tell];
            assert_eq!(got, [*top1, *top3, *certain, *cannot_tell], "{name}: {score:?}");
            assert_eq!(score.certain_but_wrong.len(), *wrong, "{name}: {score:?}");
        }
    }

    #[test]
    fn a_stall_without_a_reason_is_right_where_the_reason_was_taken_away() {
        let stalled = r#"{"schema":"leaseproof.diagnosis/1","verdict":"proven","causes":[{"rule":"LP023","rank":1,"confidence":"certain","boundary":"runtime"}]}"#;
        let diagnosis = Diagnosis::read(stalled.as_bytes()).expect("a diagnosis");
        let mut truth = truth(FROZEN);
        assert!(!Score::of(&diagnosis, &truth).top1);
        truth.missing = vec!["runtime".to_owned()];
        let score = Score::of(&diagnosis, &truth);
        assert!(
            score.top1 && score.certain && score.certain_but_wrong.is_empty(),
            "{score:?}"
        );
    }

    #[test]
    fn what_is_no_diagnosis_is_refused() {
        for text in ["", "{}", "[]", r#"{"schema":"leaseproof.verdict/1","causes":[]}"#] {
            assert!(Diagnosis::read(text.as_bytes()).is_err(), "{text}");
        }
    }
}
