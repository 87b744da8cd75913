// SPDX-License-Identifier: Apache-2.0
//! The log's file: whole lines, each on the disk before the next.

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write};

/// What a log is written to.
pub(super) trait Storage: Write + Send {
    /// What was written is on the disk.
    fn sync(&self) -> std::io::Result<()>;
    /// Length, bytes.
    fn length(&self) -> std::io::Result<u64>;
    /// Takes away what lies beyond so many bytes.
    fn cut(&self, bytes: u64) -> std::io::Result<()>;
}

impl Storage for File {
    fn sync(&self) -> std::io::Result<()> {
        self.sync_data()
    }

    fn length(&self) -> std::io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn cut(&self, bytes: u64) -> std::io::Result<()> {
        self.set_len(bytes)?;
        let mut file = self;
        file.seek(SeekFrom::Start(bytes)).map(drop)
    }
}

/// A log of whole lines.
pub(super) struct Log {
    to: Box<dyn Storage>,
    /// Up to where the lines are whole, where a part of one lies beyond it.
    torn_at_bytes: Option<u64>,
}

impl Log {
    pub(super) fn new(to: Box<dyn Storage>) -> Self {
        Self {
            to,
            torn_at_bytes: None,
        }
    }

    /// Appends a line, to the disk. What a failure leaves of it is taken away, at
    /// the latest before the next one, so that it spoils no other.
    ///
    /// # Errors
    /// The line is not in the log.
    pub(super) fn append(&mut self, line: &str) -> std::io::Result<()> {
        self.mend()?;
        let whole_bytes = self.to.length()?;
        let written = self
            .to
            .write_all(format!("{line}\n").as_bytes())
            .and_then(|()| self.to.sync());
        if written.is_err() {
            self.torn_at_bytes = Some(whole_bytes);
            // What fails here is tried again before the next line.
            let _ = self.mend();
        }
        written
    }

    fn mend(&mut self) -> std::io::Result<()> {
        let Some(whole_bytes) = self.torn_at_bytes else {
            return Ok(());
        };
        // Where it cannot be taken away, it is ended: no record, but alone.
        if self.to.cut(whole_bytes).is_err() {
            self.to.write_all(b"\n")?;
        }
        self.torn_at_bytes = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Error, ErrorKind};
    use std::sync::{Arc, Mutex};

    /// A disk with so much room.
    #[derive(Clone, Default)]
    struct Disk(Arc<Mutex<(Vec<u8>, usize, bool)>>);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let (held, room, _) = &mut *self.0.lock().unwrap();
            let n = bytes.len().min(*room);
            if n == 0 {
                return Err(Error::from(ErrorKind::StorageFull));
            }
            held.extend(&bytes[..n]);
            *room -= n;
            Ok(n)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Storage for Disk {
        fn sync(&self) -> std::io::Result<()> {
            Ok(())
        }
        fn length(&self) -> std::io::Result<u64> {
            Ok(self.0.lock().unwrap().0.len() as u64)
        }
        fn cut(&self, bytes: u64) -> std::io::Result<()> {
            let (held, _, cuts) = &mut *self.0.lock().unwrap();
            if !*cuts {
                return Err(Error::other("the disk is away"));
            }
            held.truncate(bytes as usize);
            Ok(())
        }
    }

    fn text(disk: &Disk) -> String {
        String::from_utf8(disk.0.lock().unwrap().0.clone()).unwrap()
    }

    #[test]
    fn a_torn_line_is_mended_before_the_next() {
        for cuts_at_once in [true, false] {
            let disk = Disk::default();
            *disk.0.lock().unwrap() = (Vec::new(), 12, cuts_at_once);
            let mut log = Log::new(Box::new(disk.clone()));
            log.append("one").unwrap();
            log.append("this is torn").unwrap_err();
            if !cuts_at_once {
                assert_eq!(text(&disk), "one\nthis is ");
                // Not as long as the torn part cannot be taken away.
                log.append("lost").unwrap_err();
            }
            {
                let mut state = disk.0.lock().unwrap();
                (state.1, state.2) = (1000, true);
            }
            log.append("two").unwrap();
            assert_eq!(text(&disk), "one\ntwo\n");
        }
    }
}
