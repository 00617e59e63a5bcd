//! The file: opening it, and transactions that end within a time-out.

use crate::error::{Lasts, StoreError};
use crate::patience::Patience;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::path::Path;
use std::time::Duration;

const SCHEMA: &str = include_str!("schema.sql");

/// How long to sleep while another writes: a transaction here lasts well under a millisecond.
const BUSY_NAP: Duration = Duration::from_millis(1);

/// How the file is opened.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// Reads, and changes nothing.
    Read,
    /// Writes to a file that is there.
    Write,
    /// Makes the file and its table where they are missing.
    Create,
    /// And the file's folder: the lab's store is made for a run.
    CreateFolder,
}

/// Opens the file. The busy time-out is zero: waiting is ours, in running time.
pub(crate) fn open(path: &Path, access: Access, patience: &mut Patience) -> Result<Connection, StoreError> {
    let creates = matches!(access, Access::Create | Access::CreateFolder);
    if creates {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            // An owner makes none: where the path was mistyped, its lease would be nobody else's.
            if access == Access::CreateFolder {
                std::fs::create_dir_all(folder).map_err(|error| unreachable(path, error))?;
            } else if let Err(error) = std::fs::metadata(folder) {
                return Err(match error.kind() {
                    std::io::ErrorKind::NotFound => refused(
                        path,
                        format!(
                            "the folder {} is not there: make it, or mend the path",
                            folder.display()
                        ),
                    ),
                    _ => unreachable(path, error),
                });
            }
        }
    } else if let Err(error) = std::fs::metadata(path) {
        return Err(unreachable(path, error));
    }
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX
        | match access {
            Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
            Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
            Access::Create | Access::CreateFolder => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        };
    let connection = Connection::open_with_flags(path, flags).map_err(|error| unreachable(path, error))?;
    until_free(patience, || {
        connection.busy_timeout(Duration::ZERO)?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        if creates {
            // Kept by the file, so this changes something only once.
            connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
            connection.execute_batch(SCHEMA)?;
        }
        Ok(())
    })
    .map_err(|error| named(path, error))?;
    Ok(connection)
}

/// Tries again while another process holds what is needed.
pub(crate) fn until_free<T>(
    patience: &mut Patience,
    mut work: impl FnMut() -> rusqlite::Result<T>,
) -> Result<T, rusqlite::Error> {
    loop {
        match work() {
            Err(error) if is_busy(&error) && patience.nap(BUSY_NAP) => {}
            result => return result,
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

/// An error in our words.
pub(crate) fn named(path: &Path, error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        _ if matches!(error, rusqlite::Error::IntegralValueOutOfRange(..)) => refused(
            path,
            "no greater token can come of this key's row, so that nothing is granted: the token must be from 0 to \
             9223372036854775806, set it to the greatest that was ever granted",
        ),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Blocked,
        Some(ErrorCode::CannotOpen) => unreachable(path, error),
        Some(ErrorCode::PermissionDenied | ErrorCode::ReadOnly | ErrorCode::AuthorizationForStatementDenied) => {
            refused(path, error.to_string())
        }
        // SQLite has no code of its own for this.
        _ if error.to_string().contains("no such table") => refused(
            path,
            "the file has no table of leases: an owner makes it, or leaseproof verify",
        ),
        _ => StoreError::Unexpected(format!("{} says: {error}", shown(path))),
    }
}

fn refused(path: &Path, why: impl Into<String>) -> StoreError {
    StoreError::refused(&shown(path), why, Lasts::Mended)
}

pub(super) fn unreachable(path: &Path, error: impl ToString) -> StoreError {
    StoreError::Unreachable {
        url: shown(path),
        why: error.to_string(),
    }
}

fn shown(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}
