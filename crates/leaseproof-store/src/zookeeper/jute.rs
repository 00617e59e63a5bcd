//! Jute, ZooKeeper's way to write records: big-endian numbers, and texts that say their length.

use leaseproof_model::name::Token;

/// What was cut short, or no record at all.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Garbled;

/// Writes a record.
#[derive(Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn int(&mut self, number: i32) -> &mut Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    pub(crate) fn long(&mut self, number: i64) -> &mut Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    pub(crate) fn flag(&mut self, is: bool) -> &mut Self {
        self.0.push(u8::from(is));
        self
    }

    pub(crate) fn buffer(&mut self, bytes: &[u8]) -> &mut Self {
        // Invariant: what is written here is a key, a holder or a password.
        self.int(i32::try_from(bytes.len()).expect("no record of ours is that long"));
        self.0.extend(bytes);
        self
    }

    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.buffer(text.as_bytes())
    }

    /// The record as it goes over the wire, its length before it.
    pub(crate) fn frame(&self) -> Vec<u8> {
        let mut frame = Self::default();
        frame.buffer(&self.0);
        frame.0
    }
}

/// Reads a record.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Garbled> {
        let (first, rest) = self.0.split_first_chunk::<N>().ok_or(Garbled)?;
        self.0 = rest;
        Ok(*first)
    }

    pub(crate) fn int(&mut self) -> Result<i32, Garbled> {
        self.take().map(i32::from_be_bytes)
    }

    pub(crate) fn long(&mut self) -> Result<i64, Garbled> {
        self.take().map(i64::from_be_bytes)
    }

    pub(crate) fn flag(&mut self) -> Result<bool, Garbled> {
        self.take::<1>().map(|[byte]| byte != 0)
    }

    /// A buffer; the length -1 stands for none.
    pub(crate) fn buffer(&mut self) -> Result<&'a [u8], Garbled> {
        let length = match self.int()? {
            -1 => 0,
            length => usize::try_from(length).map_err(|_| Garbled)?,
        };
        let (buffer, rest) = self.0.split_at_checked(length).ok_or(Garbled)?;
        self.0 = rest;
        Ok(buffer)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, Garbled> {
        std::str::from_utf8(self.buffer()?).map_err(|_| Garbled)
    }

    pub(crate) fn acl(&mut self) -> Result<Acl, Garbled> {
        Ok(Acl {
            bits: self.int()?,
            scheme: self.text()?.to_owned(),
            id: self.text()?.to_owned(),
        })
    }

    pub(crate) fn stat(&mut self) -> Result<Stat, Garbled> {
        let czxid = self.long()?;
        let _mzxid = self.long()?;
        let ctime = self.long()?;
        let _mtime = self.long()?;
        let version = self.int()?;
        let cversion = self.int()?;
        let _aversion = self.int()?;
        let owner = self.long()?;
        let length = self.int()?;
        let children = self.int()?;
        let _pzxid = self.long()?;
        Ok(Stat {
            czxid,
            version,
            ctime,
            length,
            children,
            owner,
            emptied: length == 0 && cversion > 0,
        })
    }
}

/// What counts of a node's state.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Stat {
    /// The transaction that created it.
    pub(crate) czxid: i64,
    /// The version of its data.
    pub(crate) version: i32,
    /// When that was, in ms of the server's wall clock since 1970.
    pub(crate) ctime: i64,
    /// How many bytes it has.
    pub(crate) length: i32,
    /// How many nodes are right below it.
    pub(crate) children: i32,
    /// The session that it ends with; 0: none. Containers are shown as having none, too.
    owner: i64,
    /// It has no data, and had others below it: what is left of a path.
    pub(crate) emptied: bool,
}

impl Stat {
    pub(crate) fn token(&self) -> Option<Token> {
        u64::try_from(self.czxid).ok().map(Token)
    }

    /// The session that it ends with; 0: none.
    pub(crate) fn owner(&self) -> i64 {
        self.owner
    }

    /// The same, where it is one: containers and nodes with a TTL have marks here, which are no session's
    /// number.
    pub(crate) fn session(&self) -> Option<i64> {
        const CONTAINER: i64 = i64::MIN;
        const TTL: i64 = 0xff << 56;
        (self.owner != 0 && self.owner != CONTAINER && self.owner & TTL != TTL).then_some(self.owner)
    }

    /// Whether it ends with a session.
    pub(crate) fn is_ephemeral(&self) -> bool {
        self.owner != 0
    }
}

/// An entry of a node's access list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Acl {
    /// What may be done: read 1, write 2, create 4, delete 8, administer 16.
    pub(crate) bits: i32,
    pub(crate) scheme: String,
    pub(crate) id: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_comes_back() {
        let mut writer = Writer::default();
        writer.int(-7).long(i64::MIN).flag(true).text("key ü").buffer(b"");
        let frame = writer.frame();
        let mut reader = Reader::new(&frame);
        let record = reader.buffer().expect("a frame");
        assert_eq!(reader.int(), Err(Garbled), "nothing follows it");
        let mut reader = Reader::new(record);
        assert_eq!(reader.int(), Ok(-7));
        assert_eq!(reader.long(), Ok(i64::MIN));
        assert_eq!(reader.flag(), Ok(true));
        assert_eq!(reader.text(), Ok("key ü"));
        assert_eq!(reader.buffer(), Ok(&b""[..]));
    }

    #[test]
    fn what_is_cut_short_is_garbled() {
        for bytes in [
            &b"\0\0\0\x05abcd"[..],
            b"\xff\xff\xff\xfeabcd",
            b"\x7f\xff\xff\xffabcd",
            b"\0\0",
        ] {
            assert_eq!(Reader::new(bytes).buffer(), Err(Garbled), "{bytes:?}");
        }
        assert_eq!(Reader::new(b"\xff\xff\xff\xff").buffer(), Ok(&b""[..]));
        assert_eq!(Reader::new(b"\0\0\0\x01\xff").text(), Err(Garbled));
        assert_eq!(Reader::new(&[0; 67]).stat(), Err(Garbled));
    }
}
