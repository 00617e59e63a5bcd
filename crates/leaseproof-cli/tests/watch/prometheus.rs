//! A Prometheus of a test's own, found by `LEASEPROOF_PROMETHEUS`, else on PATH.

use crate::rig::{bound, get, until};
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub struct Prometheus {
    child: Child,
    address: String,
}

/// The program of this name, by its variable.
pub fn program(variable: &str, name: &str) -> Option<String> {
    let program = std::env::var(variable).unwrap_or_else(|_| name.to_owned());
    let runs = Command::new(&program).arg("--version").output();
    runs.is_ok_and(|output| output.status.success()).then_some(program)
}

impl Prometheus {
    /// Scrapes `target` twice a second, and evaluates `rules` as often. `None` where there is none.
    pub fn start(dir: &Path, target: &str, rules: &str) -> Option<Self> {
        let program = program("LEASEPROOF_PROMETHEUS", "prometheus")?;
        let config = dir.join("prometheus.yml");
        std::fs::write(dir.join("rules.yml"), rules).expect("a file");
        let text = format!(
            "global:\n  scrape_interval: 500ms\n  scrape_timeout: 500ms\n  evaluation_interval: 500ms\nrule_files: \
             [rules.yml]\nscrape_configs:\n  - job_name: leases\n    static_configs:\n      - targets: ['{target}']\n"
        );
        std::fs::write(&config, text).expect("a file");
        let port = leaseproof_proc::ports::one().expect("loopback has a free port");
        let address = format!("127.0.0.1:{port}");
        let child = bound(&program)
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", dir.join("tsdb").display()))
            .arg(format!("--web.listen-address={address}"))
            .args(["--log.level=warn", "--storage.tsdb.retention.time=1h"])
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(dir.join("prometheus.log")).expect("a file"))
            .spawn()
            .expect("prometheus starts");
        let server = Self { child, address };
        until("prometheus is ready", || {
            let (status, _) = get(&server.address, "/-/ready")?;
            status.contains("200").then_some(())
        });
        Some(server)
    }

    fn ask(&self, path: &str) -> Option<Value> {
        let (_, body) = get(&self.address, path)?;
        let answer: Value = serde_json::from_str(&body).ok()?;
        (answer["status"] == "success").then(|| answer["data"].clone())
    }

    /// The value of a series of one lease now.
    pub fn series(&self, name: &str, lease: &str) -> Option<f64> {
        let query = format!("leaseproof_watch_{name}%7Blease%3D%22{lease}%22%7D");
        let data = self.ask(&format!("/api/v1/query?query={query}"))?;
        data["result"][0]["value"][1].as_str()?.parse().ok()
    }

    /// The leases for which this alert fires now.
    pub fn firing(&self, alert: &str) -> Vec<String> {
        let data = until("prometheus answers", || self.ask("/api/v1/alerts"));
        let alerts = data["alerts"].as_array().cloned().unwrap_or_default();
        alerts
            .iter()
            .filter(|it| it["labels"]["alertname"] == alert && it["state"] == "firing")
            .map(|it| it["labels"]["lease"].as_str().unwrap_or_default().to_owned())
            .collect()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
