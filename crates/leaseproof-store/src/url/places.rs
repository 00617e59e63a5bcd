//! Several members behind one URL: `etcd://a:1,b:2,c:3`.

use super::refuse;
use crate::error::StoreError;
use std::fmt::Write as _;
use std::net::Ipv6Addr;
use url::{Position, Url};

/// A host, without brackets, and a port.
pub type Place = (String, u16);

/// The members that a URL names beside the first.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Others(Vec<Place>);

impl Others {
    /// Takes them out of a URL; what is left is a URL of the first alone.
    pub(super) fn take(text: &str, default_port: u16, how: &str) -> Result<(String, Self), StoreError> {
        let Some(begin) = text.find("://").map(|at| at + 3) else {
            return Ok((text.to_owned(), Self::default()));
        };
        let end = text[begin..].find(['/', '?', '#']).map_or(text.len(), |at| begin + at);
        let hosts = text[begin..end].rfind('@').map_or(begin, |at| begin + at + 1);
        let mut members = text[hosts..end].split(',');
        let first = members.next().unwrap_or_default();
        let others = members
            .map(|member| place(member, default_port).ok_or(member))
            .collect::<Result<Vec<Place>, &str>>()
            .map_err(|member| refuse(text, format!("`{member}` is no member, host or host:port: {how}")))?;
        Ok((format!("{}{first}{}", &text[..hosts], &text[end..]), Self(others)))
    }

    /// A URL of the first, with the others put back.
    pub(super) fn shown(&self, first: &Url) -> String {
        let mut text = first[..Position::AfterPort].to_owned();
        for (host, port) in &self.0 {
            // Writing to a String can't fail.
            let _ = match host.parse::<Ipv6Addr>() {
                Ok(_) => write!(text, ",[{host}]:{port}"),
                Err(_) => write!(text, ",{host}:{port}"),
            };
        }
        text.push_str(&first[Position::AfterPort..]);
        text
    }

    /// These instead.
    pub(super) fn of(places: &[Place]) -> Self {
        Self(places.to_vec())
    }

    /// All places, the first of them this one.
    pub(crate) fn after(&self, host: &str, port: u16) -> Vec<Place> {
        std::iter::once((host.to_owned(), port))
            .chain(self.0.iter().cloned())
            .collect()
    }
}

fn place(text: &str, default_port: u16) -> Option<Place> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            host.parse::<Ipv6Addr>().ok()?;
            (
                host,
                port.strip_prefix(':')
                    .map_or_else(|| port.is_empty().then_some(None), |port| Some(Some(port)))?,
            )
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = port.map_or(Some(default_port), |port| port.parse().ok().filter(|port| *port > 0))?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
    (!host.is_empty() && host.chars().all(plain)).then(|| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_ok() {
        for (text, first, others) in [
            ("etcd://a", "etcd://a", &[][..]),
            ("etcd://a:1,b:2/", "etcd://a:1/", &[("b", 2)]),
            ("etcd://me:p,w@a,b?ca=x,y", "etcd://me:p,w@a?ca=x,y", &[("b", 7)]),
            (
                "etcd://[::1]:1,[::1]:2,[::2]",
                "etcd://[::1]:1",
                &[("::1", 2), ("::2", 7)],
            ),
        ] {
            let (left, members) = Others::take(text, 7, "how").expect(text);
            let others: Vec<Place> = others.iter().map(|(host, port)| ((*host).to_owned(), *port)).collect();
            assert_eq!((left.as_str(), &members.0), (first, &others), "{text}");
        }
    }

    #[test]
    fn members_bad() {
        for text in [
            "etcd://a,",
            "etcd://a,:1",
            "etcd://a,b:x",
            "etcd://a,b:0",
            "etcd://a,[::1",
            "etcd://a,b c",
        ] {
            assert!(Others::take(text, 7, "how").is_err(), "{text}");
        }
    }

    #[test]
    fn they_are_put_back() {
        let text = "etcd://me:p@a:1,b:2,[::1]:3/x?ca=y";
        let (first, others) = Others::take(text, 7, "how").expect("it is one");
        assert_eq!(others.shown(&first.parse().expect("a URL")), text);
    }
}
