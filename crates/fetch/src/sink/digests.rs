//! The digests of a body, which are made while it arrives or at once.

use md5::{Digest as _, Md5};
use ring::digest::{Context, SHA256, digest};

/// Which digests are made of a body.
#[derive(Clone, Copy, Debug, Default)]
pub struct Digests {
    /// For the record.
    pub blake3: bool,
    /// For the record, for `--verify`, or for a WARC file.
    pub sha256: bool,
    /// For the record or for `--verify`.
    pub md5: bool,
}

/// The digests of a body.
#[derive(Clone, Debug, Default)]
pub struct Digested {
    /// BLAKE3.
    pub blake3: Option<blake3::Hash>,
    /// SHA-256.
    pub sha256: Option<Vec<u8>>,
    /// MD5.
    pub md5: Option<Vec<u8>>,
}

/// Makes them of a body that comes in pieces.
#[derive(Clone)]
pub struct Hashers {
    blake3: Option<blake3::Hasher>,
    sha256: Option<Context>,
    md5: Option<Md5>,
}

impl Digests {
    /// Those of a whole body.
    pub fn of(self, body: &[u8]) -> Digested {
        Digested {
            blake3: self.blake3.then(|| blake3::hash(body)),
            sha256: self.sha256.then(|| digest(&SHA256, body).as_ref().to_vec()),
            md5: self.md5.then(|| Md5::digest(body).to_vec()),
        }
    }

    /// Begins a body.
    pub fn begin(self) -> Hashers {
        Hashers {
            blake3: self.blake3.then(blake3::Hasher::new),
            sha256: self.sha256.then(|| Context::new(&SHA256)),
            md5: self.md5.then(Md5::new),
        }
    }
}

impl Hashers {
    /// Whether no digest is made.
    pub fn is_empty(&self) -> bool {
        self.blake3.is_none() && self.sha256.is_none() && self.md5.is_none()
    }

    /// Adds a piece.
    pub fn update(&mut self, piece: &[u8]) {
        if let Some(hasher) = &mut self.blake3 {
            hasher.update(piece);
        }
        if let Some(context) = &mut self.sha256 {
            context.update(piece);
        }
        if let Some(hasher) = &mut self.md5 {
            hasher.update(piece);
        }
    }

    /// The digests of all pieces.
    pub fn finish(self) -> Digested {
        Digested {
            blake3: self.blake3.map(|hasher| hasher.finalize()),
            sha256: self
                .sha256
                .map(|context| context.finish().as_ref().to_vec()),
            md5: self.md5.map(|hasher| hasher.finalize().to_vec()),
        }
    }
}
