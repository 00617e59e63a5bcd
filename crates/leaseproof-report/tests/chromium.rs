//! The page in a real browser: no error in its console, lanes and findings in its DOM, names as text.
//!
//! The browser is `LEASEPROOF_CHROMIUM`, or `chromium` on the PATH; without one the test says that it
//! was skipped.

mod sample;

use leaseproof_model::diagnosis::Diagnosis;
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

/// The target folder's own place for what a person may look at.
fn artefacts() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("it lies in the target folder");
    let artefacts = target.join("artefacts");
    fs::create_dir_all(&artefacts).unwrap();
    artefacts
}

/// The DOM once the page's own script has run, and no complaint in the console.
fn dom(browser: &Path, profile: &Path, url: &str) -> String {
    let dumped = run(browser, profile, &["--dump-dom".to_owned()], url);
    let dom = String::from_utf8_lossy(&dumped.stdout).into_owned();
    let log = String::from_utf8_lossy(&dumped.stderr);
    let console: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(console.is_empty(), "the browser complains: {console:#?}");
    assert!(
        dom.contains("<html lang=\"en\" class=\"js\">"),
        "the page's own script did not run"
    );
    dom
}

#[test]
fn the_page_works_in_a_real_browser() {
    let Some(browser) = browser() else {
        eprintln!("skipped: no chromium on the PATH; set LEASEPROOF_CHROMIUM to its path");
        return;
    };
    let artefacts = artefacts();
    let profile = artefacts.join("chromium-profile");
    let sample = sample::sample();
    let page = artefacts.join("report.html");
    fs::write(&page, html::render(&sample.run, &sample.histories())).unwrap();
    let url = format!("file://{}", page.canonicalize().unwrap().display());

    let dom = dom(&browser, &profile, &url);
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

#[test]
fn the_page_of_an_incident_works_in_a_real_browser() {
    let Some(browser) = browser() else {
        eprintln!("skipped: no chromium on the PATH; set LEASEPROOF_CHROMIUM to its path");
        return;
    };
    let artefacts = artefacts();
    let profile = artefacts.join("chromium-profile-incident");
    let mut it: Diagnosis = serde_json::from_str(include_str!("sample/diagnosis.json")).unwrap();
    let evil = "<script>document.title = 'run'</script><img src=x onerror=\"document.title = 'run'\">";
    it.causes[0].evidence[0].text = evil.to_owned();
    it.lanes[0].owner = Some(evil.to_owned());
    it.picture.lanes[1].name = evil.to_owned();
    let page = artefacts.join("incident.html");
    fs::write(&page, html::incident::render(&it)).unwrap();
    // The last mark of a file's list, which is closed: whoever follows its link must see the line.
    let text = fs::read_to_string(&page).unwrap();
    let closed = text
        .rsplit("<tr id=\"")
        .next()
        .and_then(|it| it.split('"').next())
        .unwrap();
    assert!(
        text.contains(&format!("<a href=\"#{closed}\"><title>")),
        "no mark leads to {closed}"
    );
    let url = format!("file://{}#{closed}", page.canonicalize().unwrap().display());
    let dom = dom(&browser, &profile, &url);
    assert!(
        !dom.contains("<img") && dom.contains("<title>violated: "),
        "text became markup"
    );
    for wanted in ["class=\"flagline", "class=\"grant", "class=\"frozen", "class=\"may"] {
        assert!(dom.contains(wanted), "{wanted} is not in the DOM");
    }
    let before = dom.split(&format!("<tr id=\"{closed}\"")).next().unwrap();
    let list = before.rsplit("<details").next().and_then(|it| it.split('>').next());
    assert!(
        list.is_some_and(|it| it.contains("open")),
        "the list of the line stays closed"
    );
    let shot = artefacts.join("incident.png");
    let _ = fs::remove_file(&shot);
    let flags = [
        format!("--screenshot={}", shot.display()),
        "--window-size=1200,2200".to_owned(),
    ];
    let url = url.split('#').next().unwrap();
    run(&browser, &profile, &flags, url);
    let bytes = fs::metadata(&shot).map(|it| it.len()).unwrap_or(0);
    assert!(bytes > 20_000, "no screenshot: {}", shot.display());
    let _ = fs::remove_dir_all(&profile);
}
