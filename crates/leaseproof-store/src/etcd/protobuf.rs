//! The few fields of protobuf that TTLs and keys take, written and read by hand: generated code would need a
//! compiler of its own at build time, for two messages each way.
//!
//! A field is a tag (its number and how it is written), then its value. Fields that are not known are skipped,
//! those that are left out are zero. etcd's `rpc.proto` has the numbers, which never change.

use crate::etcd::message::{Header, KeyValue, LeaseAnswer, Range, Response, Txn};

/// How a field is written.
const VARINT: u64 = 0;
const EIGHT: u64 = 1;
const BYTES: u64 = 2;
const FOUR: u64 = 5;

/// `LeaseTimeToLiveRequest`, without asking for the keys.
pub(super) fn time_to_live(lease: i64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(11);
    // Field 1, ID.
    bytes.push(1 << 3);
    put_varint(&mut bytes, lease.cast_unsigned());
    bytes
}

/// `LeaseTimeToLiveResponse`.
pub(super) fn time_left(bytes: &[u8]) -> Result<LeaseAnswer, &'static str> {
    let mut answer = LeaseAnswer::default();
    for field in Fields(bytes) {
        match field? {
            (1, Value::Bytes(bytes)) => answer.header = header(bytes)?,
            (3, Value::Number(number)) => answer.ttl = number.cast_signed(),
            (4, Value::Number(number)) => answer.granted = number.cast_signed(),
            (1 | 3 | 4, _) => return Err("a field of another kind"),
            _ => {}
        }
    }
    Ok(answer)
}

/// `TxnRequest`: a range of one key for each, and nothing else.
pub(super) fn ranges(keys: &[&[u8]]) -> Vec<u8> {
    let mut all = Vec::new();
    for key in keys {
        // From the inside out: field 1 of RangeRequest, of RequestOp; field 2 of the transaction, success.
        let mut range = Vec::new();
        put_bytes(&mut range, 1, key);
        let mut operation = Vec::new();
        put_bytes(&mut operation, 1, &range);
        put_bytes(&mut all, 2, &operation);
    }
    all
}

/// Whether a `TxnRequest` has ranges alone, which change nothing.
pub(super) fn has_only_ranges(bytes: &[u8]) -> bool {
    Fields(bytes).all(|field| match field {
        Ok((2, Value::Bytes(operation))) => Fields(operation).all(|field| matches!(field, Ok((1, Value::Bytes(_))))),
        _ => false,
    })
}

/// `TxnResponse`, of a transaction of ranges.
pub(super) fn found(bytes: &[u8]) -> Result<Txn, &'static str> {
    let mut txn = Txn::default();
    for field in Fields(bytes) {
        match field? {
            (1, Value::Bytes(bytes)) => txn.header = header(bytes)?,
            (2, Value::Number(number)) => txn.succeeded = number != 0,
            (3, Value::Bytes(bytes)) => txn.responses.push(response(bytes)?),
            (1..=3, _) => return Err("a field of another kind"),
            _ => {}
        }
    }
    Ok(txn)
}

/// `ResponseOp`.
fn response(bytes: &[u8]) -> Result<Response, &'static str> {
    let mut response = Response::default();
    for field in Fields(bytes) {
        if let (1, Value::Bytes(bytes)) = field? {
            response.response_range = range(bytes)?;
        }
    }
    Ok(response)
}

/// `RangeResponse`.
fn range(bytes: &[u8]) -> Result<Range, &'static str> {
    let mut range = Range::default();
    for field in Fields(bytes) {
        match field? {
            (2, Value::Bytes(bytes)) => range.kvs.push(key_value(bytes)?),
            (4, Value::Number(number)) => range.count = number,
            (2 | 4, _) => return Err("a field of another kind"),
            // Within a transaction its header says less than that of the whole.
            _ => {}
        }
    }
    Ok(range)
}

/// `KeyValue`.
fn key_value(bytes: &[u8]) -> Result<KeyValue, &'static str> {
    let mut key = KeyValue::default();
    for field in Fields(bytes) {
        match field? {
            (1, Value::Bytes(bytes)) => key.key = bytes.to_vec(),
            (2, Value::Number(number)) => key.create_revision = number,
            (3, Value::Number(number)) => key.mod_revision = number,
            (5, Value::Bytes(bytes)) => key.value = bytes.to_vec(),
            (6, Value::Number(number)) => key.lease = number.cast_signed(),
            (1..=3 | 5 | 6, _) => return Err("a field of another kind"),
            _ => {}
        }
    }
    Ok(key)
}

/// `ResponseHeader`.
fn header(bytes: &[u8]) -> Result<Header, &'static str> {
    let mut header = Header::default();
    for field in Fields(bytes) {
        let field = field?;
        let (number, Value::Number(value)) = field else {
            continue;
        };
        match number {
            1 => header.cluster_id = value,
            2 => header.member_id = value,
            3 => header.revision = value,
            4 => header.raft_term = value,
            _ => {}
        }
    }
    Ok(header)
}

fn put_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while let low @ 0x80.. = number {
        // Seven bits at a time, and that more come.
        bytes.push((low & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn put_bytes(bytes: &mut Vec<u8>, number: u64, value: &[u8]) {
    put_varint(bytes, number << 3 | BYTES);
    put_varint(bytes, value.len() as u64);
    bytes.extend_from_slice(value);
}

/// What a field holds, as far as it counts here.
#[derive(PartialEq, Eq, Debug)]
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// Four or eight bytes, which no field that is read here has.
    Fixed,
}

/// The fields of a message, one after the other; nothing more after one that is broken.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn varint(&mut self) -> Result<u64, &'static str> {
        let mut number = 0;
        for place in 0..10 {
            let (&byte, rest) = self.0.split_first().ok_or("a number that is cut off")?;
            self.0 = rest;
            // The tenth byte has room for one bit.
            if place == 9 && byte > 1 {
                break;
            }
            number |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err("a number of more than 64 bits")
    }

    fn take(&mut self, count: u64) -> Result<&'a [u8], &'static str> {
        let count = usize::try_from(count).map_err(|_| "a field that is cut off")?;
        let (taken, rest) = self.0.split_at_checked(count).ok_or("a field that is cut off")?;
        self.0 = rest;
        Ok(taken)
    }

    fn field(&mut self) -> Result<(u64, Value<'a>), &'static str> {
        let tag = self.varint()?;
        let value = match tag & 7 {
            VARINT => Value::Number(self.varint()?),
            BYTES => {
                let count = self.varint()?;
                Value::Bytes(self.take(count)?)
            }
            EIGHT => self.take(8).map(|_| Value::Fixed)?,
            FOUR => self.take(4).map(|_| Value::Fixed)?,
            _ => return Err("a field that is written in no known way"),
        };
        Ok((tag >> 3, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), &'static str>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What etcd 3.4.23 and 3.6.16 answered, each the same: of lease 78, which had been granted 100 s.
    const LEFT: &[u8] = b"\x0a\x19\x08\xf4\x8e\xf8\x8a\xc2\xc3\x80\xa5\x53\x10\x95\xa6\xa1\x81\xbd\xa2\xe7\x8b\xb5\x01\
        \x18\x01\x20\x02\x10\x4e\x18\x63\x20\x64";

    /// Of lease 77, which there was not.
    const NONE: &[u8] = b"\x0a\x19\x08\xf4\x8e\xf8\x8a\xc2\xc3\x80\xa5\x53\x10\x95\xa6\xa1\x81\xbd\xa2\xe7\x8b\xb5\x01\
        \x18\x01\x20\x02\x10\x4d\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";

    #[test]
    fn recorded_answers_are_understood() {
        let header = Header {
            cluster_id: 6_001_611_773_266_757_492,
            member_id: 13_049_071_153_751_544_597,
            revision: 1,
            raft_term: 2,
        };
        for (bytes, ttl, granted) in [(LEFT, 99, 100), (NONE, -1, 0)] {
            let answer = time_left(bytes).expect("an answer");
            assert_eq!((&answer.header, answer.ttl, answer.granted), (&header, ttl, granted));
        }
    }

    #[test]
    fn a_question_is_the_lease_s_number() {
        assert_eq!(time_to_live(77), b"\x08\x4d");
        // A lease's usual number has 63 bits.
        assert_eq!(
            time_to_live(0x1abb_ec5c_5d1d_dabc),
            b"\x08\xbc\xb5\xf7\xe8\xc5\x8b\xfb\xdd\x1a"
        );
        assert_eq!(
            time_to_live(-1),
            b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            "ten bytes"
        );
    }

    /// What both answered to a transaction of two ranges: the key `a`, attached to lease 78, and `b`, not there.
    const FOUND: &[u8] = b"\x0a\x19\x08\xf4\x8e\xf8\x8a\xc2\xc3\x80\xa5\x53\x10\x95\xa6\xa1\x81\xbd\xa2\xe7\x8b\xb5\x01\
        \x18\x02\x20\x02\x10\x01\x1a\x1c\x0a\x1a\x0a\x02\x18\x02\x12\x12\x0a\x01a\x10\x02\x18\x02\x20\x01\x2a\x05me#4e0N\
        \x20\x01\x1a\x06\x0a\x04\x0a\x02\x18\x02";

    #[test]
    fn recorded_keys_are_understood() {
        let txn = found(FOUND).expect("an answer");
        assert_eq!((txn.header.raft_term, txn.succeeded, txn.responses.len()), (2, true, 2));
        let counts: Vec<u64> = txn.responses.iter().map(|it| it.response_range.count).collect();
        assert_eq!(counts, [1, 0]);
        let mut keys = txn.responses.into_iter().map(|it| it.response_range.one());
        let key = keys.next().flatten().expect("a key");
        assert_eq!((&key.key[..], &key.value[..]), (&b"a"[..], &b"me#4e"[..]));
        assert_eq!((key.create_revision, key.mod_revision, key.lease), (2, 2, 78));
        assert!(keys.next().flatten().is_none());
        for end in 0..FOUND.len() {
            let _ = found(&FOUND[..end]);
        }
    }

    #[test]
    fn ranges_change_nothing() {
        let question = ranges(&[b"a", b""]);
        assert_eq!(question, b"\x12\x05\x0a\x03\x0a\x01a\x12\x04\x0a\x02\x0a\x00");
        assert!(has_only_ranges(&question) && has_only_ranges(b""));
        for other in [
            // A put, a removal, a transaction in it; a range and a put in one; a comparison; what fails; what is broken.
            &b"\x12\x02\x12\x00"[..],
            b"\x12\x02\x1a\x00",
            b"\x12\x02\x22\x00",
            b"\x12\x04\x0a\x00\x12\x00",
            b"\x0a\x00",
            b"\x1a\x02\x12\x00",
            b"\x12\x02\x08\x00",
            b"\x12\x05",
        ] {
            assert!(!has_only_ranges(&[&question, other].concat()), "{other:02x?}");
        }
    }

    #[test]
    fn what_is_not_known_is_skipped_and_what_is_broken_is_told() {
        let later = [LEFT, b"\x29\0\0\0\0\0\0\0\0\x32\x01x\x3d\0\0\0\0\x40\x05"].concat();
        assert_eq!(time_left(&later).expect("an answer").ttl, 99);
        for broken in [
            &b"\x18"[..],
            b"\x18\xff",
            b"\x0a\x05\x08",
            b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
            b"\x1a\x01\x63",
            b"\x0b",
            b"\x29\0",
        ] {
            assert!(time_left(broken).is_err(), "{broken:02x?}");
        }
        for end in 0..NONE.len() {
            let _ = time_left(&NONE[..end]);
        }
    }
}
