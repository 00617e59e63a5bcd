//! A PostgreSQL server.

use super::{Recipe, settled, words};
use crate::server::room::Room;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

pub(super) const RECIPE: Recipe = Recipe {
    kind: "postgres",
    variable: "LEASEPROOF_POSTGRES",
    program: "postgres",
    // Debian's place: it is in nobody's PATH.
    versions: Some("/usr/lib/postgresql"),
    most: 1,
    whole: None,
    never_root: true,
    // It reads its clock through libc.
    steppable: true,
    write,
    make,
    run,
    settle: settled,
    // Anybody on this host reaches the port, and its user may run programs: there is a password.
    url: |places, secret| format!("postgres://postgres:{secret}@{}/postgres", places.join(",")),
};

fn write(room: &Room<'_>) -> io::Result<()> {
    let file = room.dir().join("password");
    std::fs::write(&file, room.secret)?;
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600))?;
    room.hand_over(&file)?;
    // Left by a server that was killed: the number in it may be another process's by now.
    match std::fs::remove_file(room.data_dir().join("postmaster.pid")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn make(room: &Room<'_>) -> Option<Vec<String>> {
    let beside = room.program.with_file_name("initdb");
    let initdb = std::env::var_os("LEASEPROOF_INITDB").map_or(beside, PathBuf::from);
    let password = room.dir().join("password").display().to_string();
    Some(words(&[
        &initdb.display().to_string(),
        "--pgdata",
        &room.data(),
        "--username=postgres",
        "--auth=scram-sha-256",
        "--pwfile",
        &password,
        "--no-sync",
        "--locale=C",
        "--encoding=UTF8",
    ]))
}

/// What it has written outlives its own end by a signal, so that nothing needs to be forced to the disk.
fn run(room: &Room<'_>) -> Vec<String> {
    let settings = [
        "listen_addresses=127.0.0.1",
        "unix_socket_directories=",
        "fsync=off",
        "shared_buffers=16MB",
        "max_connections=60",
        "max_wal_size=64MB",
        "min_wal_size=32MB",
        // Else a server that is killed leaves a file outside of its folder.
        "dynamic_shared_memory_type=mmap",
    ];
    let port = room.ports().client.to_string();
    let mut command = words(&[&room.program(), "-D", &room.data(), "-p", &port]);
    command.extend(settings.iter().flat_map(|setting| words(&["-c", setting])));
    command
}
