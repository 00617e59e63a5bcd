//! What the caller has to mend before a store can be looked at, and how.

use leaseproof_store::StoreError;

/// What to do about it, where it is the call or the user's rights, and not the store; empty where the error's own
/// words say it.
#[must_use]
pub fn mend(error: &StoreError) -> Option<&'static str> {
    match error {
        StoreError::Url { .. }
        | StoreError::Replica { .. }
        | StoreError::Key { .. }
        | StoreError::Unexpected(_)
        | StoreError::OtherProtocol(_) => Some(""),
        StoreError::Refused { why, .. } if why.starts_with("NOPERM") => {
            Some("\n  a user that may look: ACL SETUSER NAME on >PASSWORD ~* -@all +@read +@transaction +time +info")
        }
        StoreError::Refused { .. } => error.is_refusal().then_some(""),
        // Who signed it was never in question.
        StoreError::Unreachable { why, .. } if is_out_of_time(why) => {
            Some("\n  renew it on the server, or set this host's clock")
        }
        StoreError::Unreachable { why, .. } if why.contains("certificate") && why.contains("not valid for name") => {
            Some("\n  name one that it is for: ?server_name=NAME, or reach the server by that name")
        }
        StoreError::Unreachable { why, .. } if why.contains("certificate") => {
            Some("\n  name the file of the authority that signed it: ?ca=FILE.pem")
        }
        // It answers, and in another protocol.
        StoreError::Unreachable { why, .. } if why.contains("is no TLS") => Some(""),
        _ => None,
    }
}

/// Whether a certificate is over, or does not count yet: that is the server's, or one of the two clocks is wrong.
fn is_out_of_time(why: &str) -> bool {
    why.contains("certificate")
        && ["expired", "Expired", "not valid yet", "NotValidYet"]
            .iter()
            .any(|word| why.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_out_of_time_asks_for_no_authority() {
        let of = |why: &str| {
            let error = StoreError::Unreachable {
                url: "etcds://127.0.0.1:2379".to_owned(),
                why: why.to_owned(),
            };
            mend(&error).unwrap_or_default().contains("?ca=FILE")
        };
        for why in [
            "invalid peer certificate: certificate expired: verification time 1796084056 (UNIX)",
            "invalid peer certificate: certificate not valid yet: verification time 1796084056 (UNIX)",
            "invalid peer certificate: Expired",
            "invalid peer certificate: NotValidYet",
        ] {
            assert!(!of(why), "{why}");
        }
        assert!(of("invalid peer certificate: UnknownIssuer"));
    }
}
