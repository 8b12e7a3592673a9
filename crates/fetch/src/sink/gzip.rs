//! Members of gzip, one for each record, by one compressor.

use std::io;

use flate2::{Compress, Compression, Crc, FlushCompress, Status};

/// Compresses members one after the other.
pub(super) struct Members {
    compress: Compress,
}

impl Members {
    pub(super) fn new() -> Members {
        Members {
            compress: Compress::new(Compression::new(4), false),
        }
    }

    /// Appends one member that holds these pieces.
    pub(super) fn append(&mut self, pieces: &[&[u8]], out: &mut Vec<u8>) -> io::Result<()> {
        // Deflate, no name, no time, no system (RFC 1952).
        out.extend([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
        self.compress.reset();
        let mut sum = Crc::new();
        for piece in pieces {
            sum.update(piece);
            self.deflate(piece, FlushCompress::None, out)?;
        }
        self.deflate(&[], FlushCompress::Finish, out)?;
        out.extend(sum.sum().to_le_bytes());
        out.extend(sum.amount().to_le_bytes());
        Ok(())
    }

    fn deflate(
        &mut self,
        mut piece: &[u8],
        flush: FlushCompress,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let finish = matches!(flush, FlushCompress::Finish);
        loop {
            if out.capacity() - out.len() < 4096 {
                out.reserve(64 << 10);
            }
            let before = self.compress.total_in();
            let status = self.compress.compress_vec(piece, out, flush);
            let status = status.map_err(|error| io::Error::other(error.to_string()))?;
            let taken = usize::try_from(self.compress.total_in() - before);
            piece = piece.get(taken.unwrap_or(usize::MAX)..).unwrap_or_default();
            if status == Status::StreamEnd || (piece.is_empty() && !finish) {
                return Ok(());
            }
        }
    }
}
