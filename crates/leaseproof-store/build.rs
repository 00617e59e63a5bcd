//! A build with no store at all is told so once, before the compiler finds each place that misses one.

const STORES: &[&str] = &["sqlite", "redis", "etcd", "postgres", "zookeeper", "consul"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_on = |store: &&str| std::env::var_os(format!("CARGO_FEATURE_{}", store.to_uppercase())).is_some();
    if !STORES.iter().any(is_on) {
        println!(
            "cargo::error=no store is on: name the features of those that you use, as in \
             `cargo add leaseproof --features redis`; there are {}",
            STORES.join(", ")
        );
    }
}
