//! The node of a key: its path, with what ZooKeeper does not allow written as `%` and two hex digits.
//!
//! A key may be any text; a path may not have empty parts, `.` and `..`, and some characters. Slashes at a
//! key's front are those of its path, as zkCli and kazoo write it: `/lock/orders` is the key `lock/orders`.

use std::borrow::Cow;
use std::fmt::Write;

/// A key, or the begin of one, without the slashes at its front.
pub(crate) fn bare(key: &str) -> &str {
    key.trim_start_matches('/')
}

/// The path of a key's node.
pub(crate) fn path_of(key: &str) -> String {
    bare(key).split('/').fold(String::new(), |mut path, part| {
        path.push('/');
        match part {
            // What no other part becomes, since a `%` in a key is written as `%25`.
            "" => path.push('%'),
            "." => path += "%2E",
            ".." => path += "%2E.",
            // The server's own.
            "zookeeper" if path == "/" => path += "%7Aookeeper",
            _ => part.chars().for_each(|c| encode(&mut path, c)),
        }
        path
    })
}

fn encode(path: &mut String, c: char) {
    let forbidden = matches!(c,
        '%' | '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..='\u{ffff}' | '\u{10000}'..);
    if forbidden {
        let mut bytes = [0; 4];
        for byte in c.encode_utf8(&mut bytes).bytes() {
            // Writing to a String can't fail.
            let _ = write!(path, "%{byte:02X}");
        }
    } else {
        path.push(c);
    }
}

/// The key of a node.
pub(crate) fn key_of(path: &str) -> String {
    let parts: Vec<Cow<'_, str>> = path
        .trim_start_matches('/')
        .split('/')
        .map(|part| match part {
            "%" => Cow::Borrowed(""),
            part => percent_encoding::percent_decode_str(part).decode_utf8_lossy(),
        })
        .collect();
    parts.join("/")
}

/// The paths above a path, the topmost first.
pub(crate) fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').skip(1).map(|(at, _)| path.split_at(at).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_a_path_of_its_own() {
        for (key, path) in [
            ("canary/demo", "/canary/demo"),
            ("", "/%"),
            ("a//b/", "/a/%/b/%"),
            ("a/./../b", "/a/%2E/%2E./b"),
            ("zookeeper/quota", "/%7Aookeeper/quota"),
            ("canary/zookeeper", "/canary/zookeeper"),
            ("50% \n\u{1f512}ü", "/50%25 %0A%F0%9F%94%92ü"),
            ("%2E", "/%252E"),
        ] {
            assert_eq!(path_of(key), path);
            assert_eq!(key_of(path), key);
        }
    }

    #[test]
    fn a_slash_at_the_front_is_the_path_s_own() {
        for (key, path) in [
            ("/lock/orders", "/lock/orders"),
            ("//lock", "/lock"),
            ("/zookeeper", "/%7Aookeeper"),
            ("/", "/%"),
        ] {
            assert_eq!(path_of(key), path);
            assert_eq!(key_of(path), bare(key));
        }
    }

    #[test]
    fn what_is_above() {
        assert_eq!(above("/a/b/c").collect::<Vec<_>>(), ["/a", "/a/b"]);
        assert_eq!(above("/a").count(), 0);
    }
}
