//! The page "the first ten minutes": what it shows of `diagnose` is what `diagnose` says.

use std::path::Path;
use std::process::Command;

/// Each call of `diagnose` on the page, with what is shown below it.
fn calls(page: &str) -> Vec<(&str, Vec<&str>)> {
    let blocks = page.split("```text\n$ leaseproof diagnose ").skip(1);
    blocks
        .map(|block| {
            let (block, _) = block.split_once("\n```").expect("the block ends");
            let mut lines = block.lines();
            (lines.next().expect("the call"), lines.collect())
        })
        .collect()
}

/// What is shown that is not there; a line of `…` leaves out any number.
fn absent<'a>(shown: &[&'a str], output: &str) -> Option<&'a str> {
    let mut output = output.lines();
    let mut anywhere = false;
    for line in shown {
        if line.trim() == "…" {
            anywhere = true;
            continue;
        }
        let found = match anywhere {
            true => output.any(|it| it == *line),
            false => output.next() == Some(*line),
        };
        if !found {
            return Some(line);
        }
        anywhere = false;
    }
    (!anywhere && output.next().is_some()).then_some("the end")
}

#[test]
fn the_page_shows_what_is_said() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/first-ten-minutes.md")).unwrap();
    let calls = calls(&page);
    assert!(calls.len() >= 3, "the page shows {} calls", calls.len());
    for (call, shown) in calls {
        let output = Command::new(super::BIN)
            .arg("diagnose")
            .args(call.split_whitespace())
            .current_dir(root.join("examples/incident"))
            .env("NO_COLOR", "1")
            .env("COLUMNS", "100")
            .output()
            .expect("it starts");
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(absent(&shown, &text), None, "{call}\n{text}");
    }
}

#[test]
fn what_is_left_out_and_what_is_not() {
    let output = "a\nb\nc\nd\n";
    assert_eq!(absent(&["a", "…", "c", "…"], output), None);
    assert_eq!(absent(&["…", "b", "d"], output), Some("d"));
    assert_eq!(absent(&["a", "b"], output), Some("the end"));
}
