//! The page in a real browser: no error in its console, lanes and findings in its DOM, names as text.
//!
//! The browser is `LEASEPROOF_CHROMIUM`, or `chromium` on the PATH; without one the test says that it
//! was skipped.

mod sample;

use leaseproof_report::html;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn browser() -> Option<PathBuf> {
    if let Some(named) = env::var_os("LEASEPROOF_CHROMIUM") {
        return Some(PathBuf::from(named));
    }
    let path = env::var_os("PATH")?;
    ["chromium", "chromium-browser", "google-chrome"]
        .iter()
        .flat_map(|name| env::split_paths(&path).map(move |dir| dir.join(name)))
        .find(|it| it.is_file())
}

fn run(browser: &Path, profile: &Path, more: &[String], url: &str) -> Output {
    Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            "--enable-logging=stderr",
            "--v=0",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(more)
        .arg(url)
        .output()
        .unwrap_or_else(|error| panic!("failed to start {}: {error}", browser.display()))
}

#[test]
fn the_page_works_in_a_real_browser() {
    let Some(browser) = browser() else {
        eprintln!("skipped: no chromium on the PATH; set LEASEPROOF_CHROMIUM to its path");
        return;
    };
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("it lies in the target folder");
    let artefacts = target.join("artefacts");
    fs::create_dir_all(&artefacts).unwrap();
    let profile = artefacts.join("chromium-profile");
    let sample = sample::sample();
    let page = artefacts.join("report.html");
    fs::write(&page, html::render(&sample.run, &sample.histories())).unwrap();
    let url = format!("file://{}", page.canonicalize().unwrap().display());

    let dumped = run(&browser, &profile, &["--dump-dom".to_owned()], &url);
    let dom = String::from_utf8_lossy(&dumped.stdout);
    let log = String::from_utf8_lossy(&dumped.stderr);
    let console: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(console.is_empty(), "the browser complains: {console:#?}");
    assert!(
        dom.contains("<html lang=\"en\" class=\"js\">"),
        "the page's own script did not run"
    );
    for wanted in [
        "LP004",
        "silent-retention",
        "first violation",
        "class=\"belief",
        "class=\"grant",
        "class=\"frozen",
    ] {
        assert!(dom.contains(wanted), "{wanted} is not in the DOM");
    }
    assert!(!dom.contains("<img"), "a name became an element");

    // A headless window is never as narrow as a phone, a frame in it is.
    let phone = artefacts.join("phone.html");
    fs::write(
        &phone,
        "<body style='margin:0'><iframe src='report.html' width=390 height=2400></iframe>",
    )
    .unwrap();
    let phone_url = format!("file://{}", phone.canonicalize().unwrap().display());
    for (name, size, more) in [
        ("report.png", "1200,2200", ""),
        (
            "report-dark.png",
            "1200,2200",
            "--blink-settings=preferredColorScheme=0",
        ),
        ("report-phone.png", "500,2400", ""),
    ] {
        let shot = artefacts.join(name);
        let _ = fs::remove_file(&shot);
        let mut flags = vec![
            format!("--screenshot={}", shot.display()),
            format!("--window-size={size}"),
        ];
        flags.extend((!more.is_empty()).then(|| more.to_owned()));
        run(
            &browser,
            &profile,
            &flags,
            if name == "report-phone.png" { &phone_url } else { &url },
        );
        let bytes = fs::metadata(&shot).map(|it| it.len()).unwrap_or(0);
        assert!(bytes > 20_000, "no screenshot: {}", shot.display());
    }
    let _ = fs::remove_dir_all(&profile);
}
