//! The requests that are sent, and what comes back.

use super::code::Code;
use super::jute::{Acl, Garbled, Reader, Stat, Writer};

/// All that may be done with a node.
const ALL: i32 = 31;

/// A request.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    Create {
        path: String,
        data: Vec<u8>,
        kind: Kind,
        access: Access,
    },
    /// Deletes a node if its data has this version; -1: whatever it has.
    Delete { path: String, version: i32 },
    /// The state of a node.
    Exists { path: String },
    /// Who may use a node.
    Acl { path: String },
    /// Data and state of a node.
    Get { path: String },
    /// The names below a node, and its state.
    Children { path: String },
    /// Lets this server catch up with the leader, so that what is read next on this session is no
    /// older than now.
    Sync { path: String },
    /// All of these in one transaction, or none.
    Multi(Vec<Request>),
    /// Ends the session, and all that ends with it.
    Close,
}

/// What is created.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A node that ends with this session.
    Ephemeral,
    /// A node that the server removes some time after its last child.
    Container,
}

/// Who may use what is created.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    Everyone,
    /// Whoever has this session's user and password.
    SameUser,
}

impl Request {
    fn code(&self) -> i32 {
        match self {
            Self::Delete { .. } => 2,
            Self::Exists { .. } => 3,
            Self::Get { .. } => 4,
            Self::Acl { .. } => 6,
            Self::Sync { .. } => 9,
            Self::Children { .. } => 12,
            Self::Multi(_) => 14,
            Self::Create {
                kind: Kind::Ephemeral, ..
            } => 15,
            Self::Create {
                kind: Kind::Container, ..
            } => 19,
            Self::Close => -11,
        }
    }

    /// The request as a frame, numbered so that its answer is known.
    pub(crate) fn frame(&self, number: i32) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.int(number).int(self.code());
        self.write(&mut writer);
        writer.frame()
    }

    fn write(&self, writer: &mut Writer) {
        match self {
            Self::Create {
                path,
                data,
                kind,
                access,
            } => {
                writer.text(path).buffer(data).int(1).int(ALL);
                match access {
                    Access::Everyone => writer.text("world").text("anyone"),
                    Access::SameUser => writer.text("auth").text(""),
                };
                writer.int(match kind {
                    Kind::Ephemeral => 1,
                    Kind::Container => 4,
                });
            }
            Self::Delete { path, version } => {
                writer.text(path).int(*version);
            }
            Self::Get { path } | Self::Exists { path } | Self::Children { path } => {
                writer.text(path).flag(false);
            }
            Self::Sync { path } | Self::Acl { path } => {
                writer.text(path);
            }
            Self::Multi(parts) => {
                for part in parts {
                    writer.int(part.code()).flag(false).int(-1);
                    part.write(writer);
                }
                writer.int(-1).flag(true).int(-1);
            }
            Self::Close => {}
        }
    }
}

/// The answer to one request.
#[derive(Debug)]
pub(crate) struct Reply {
    /// The last transaction that the server had seen.
    pub(crate) zxid: i64,
    pub(crate) code: Code,
    body: Vec<u8>,
}

impl Reply {
    /// The number of the request that it answers, and the answer.
    pub(crate) fn parse(frame: &[u8]) -> Result<(i32, Self), Garbled> {
        let mut reader = Reader::new(frame);
        let number = reader.int()?;
        let zxid = reader.long()?;
        let code = Code(reader.int()?);
        let body = frame.get(16..).unwrap_or_default().to_vec();
        Ok((number, Self { zxid, code, body }))
    }

    /// Of `Create`: the state of what was created.
    pub(crate) fn created(&self) -> Result<Stat, Garbled> {
        created(&mut Reader::new(&self.body))
    }

    /// Of `Get`: data and state.
    pub(crate) fn node(&self) -> Result<(&[u8], Stat), Garbled> {
        let mut reader = Reader::new(&self.body);
        Ok((reader.buffer()?, reader.stat()?))
    }

    /// Of `Exists`.
    pub(crate) fn stat(&self) -> Result<Stat, Garbled> {
        Reader::new(&self.body).stat()
    }

    /// Of `Acl`.
    pub(crate) fn acl(&self) -> Result<Vec<Acl>, Garbled> {
        let mut reader = Reader::new(&self.body);
        let count = reader.int()?;
        (0..count).map(|_| reader.acl()).collect()
    }

    /// Of `Children`: names and the state of the node above them.
    pub(crate) fn children(&self) -> Result<(Vec<String>, Stat), Garbled> {
        let mut reader = Reader::new(&self.body);
        let count = reader.int()?;
        let names = (0..count).map(|_| reader.text().map(str::to_owned));
        Ok((names.collect::<Result<_, _>>()?, reader.stat()?))
    }

    /// Of a `Multi`: why nothing was done, or that all was.
    ///
    /// The state of what it created is not in it, whatever the protocol's records have room for.
    pub(crate) fn all_done(&self) -> Result<Code, Garbled> {
        if self.code != Code::OK {
            return Ok(self.code);
        }
        let mut reader = Reader::new(&self.body);
        let (kind, _, _) = (reader.int()?, reader.flag()?, reader.int()?);
        if kind != -1 {
            return Ok(Code::OK);
        }
        // A transaction that failed has a code for each part: of the one that failed, and before and
        // after it what says nothing.
        loop {
            match Code(reader.int()?) {
                Code::OK | Code::OTHER_PART => {}
                code => return Ok(code),
            }
            let (_, done, _) = (reader.int()?, reader.flag()?, reader.int()?);
            if done {
                return Err(Garbled);
            }
        }
    }
}

fn created(reader: &mut Reader<'_>) -> Result<Stat, Garbled> {
    let _path = reader.text()?;
    reader.stat()
}
