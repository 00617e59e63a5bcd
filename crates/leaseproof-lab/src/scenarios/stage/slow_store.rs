//! Opening a store that all scenarios of a run meet at once.

use leaseproof_proc::clock::boot_now;
use leaseproof_store::StoreError;
use std::time::Duration;

/// How long a store may be slow at the start. It would be no fault of the owner's, and nothing is watched yet.
const PATIENCE: Duration = Duration::from_secs(10);

/// What `open` gives, asked for again as long as the store is only slow.
pub(super) fn opened<T>(mut open: impl FnMut() -> Result<T, StoreError>) -> Result<T, String> {
    let bound = boot_now().plus(PATIENCE);
    loop {
        match open() {
            Err(StoreError::TimedOut(_) | StoreError::Blocked) if boot_now() < bound => {}
            done => return done.map_err(|error| error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_slow_store_is_asked_again() {
        for (error, tries) in [
            (StoreError::TimedOut(PATIENCE), 2),
            (StoreError::Blocked, 2),
            (StoreError::Unexpected("no".to_owned()), 1),
        ] {
            let mut errors = vec![StoreError::Unexpected("the end".to_owned()), error];
            let mut asked = 0;
            let said = opened(|| -> Result<(), StoreError> {
                asked += 1;
                Err(errors.pop().expect("no more tries than errors"))
            });
            assert!(said.is_err());
            assert_eq!(asked, tries);
        }
    }
}
