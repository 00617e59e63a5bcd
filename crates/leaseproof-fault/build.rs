//! Builds the clock shim and hands it to the crate as bytes, since `cargo run` builds no sibling
//! library that could be loaded from a file.
//!
//! It is C, and by the compiler that the bundled sqlite needs anyway: a preloaded library may hold
//! no runtime, no allocator and no thread-local of its own, and what isn't there can't clash with
//! the program that it is loaded into.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=shim/clock.c");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("clock_shim.so");
    let offered = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux")
        && env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "x86_64" || arch == "aarch64");
    if !offered {
        fs::write(&out, []).expect("OUT_DIR is writable");
        return;
    }
    let status = cc::Build::new()
        .opt_level(2)
        .get_compiler()
        .to_command()
        .args([
            "-shared",
            "-fPIC",
            "-fvisibility=hidden",
            "-nostdlib",
            "-fno-stack-protector",
        ])
        .args(["-fno-builtin", "-Wall", "-Wextra", "-Wl,-z,relro,-z,now"])
        .args(["shim/clock.c", "-o"])
        .arg(&out)
        .status()
        .expect("the C compiler starts (sqlite needs it too)");
    assert!(status.success(), "the clock shim does not compile");
}
