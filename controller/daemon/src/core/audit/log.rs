// SPDX-License-Identifier: Apache-2.0
//! The log's file: whole lines, each on the disk before the next one.

use durable_fs::DiskFile;

/// A log of whole lines.
pub(super) struct Log {
    to: Box<dyn DiskFile>,
    /// Length of the whole lines, if a partial line follows them.
    torn_at_bytes: Option<u64>,
    /// Whether an earlier run left a partial line at the end.
    unended: bool,
}

impl Log {
    /// Creates a log. `unended`: the last line has no newline. It is added before the next line,
    /// because the disk may be full now.
    pub(super) fn new(to: Box<dyn DiskFile>, unended: bool) -> Self {
        Self {
            to,
            torn_at_bytes: None,
            unended,
        }
    }

    /// Appends a line and syncs it. A partial line left by a failure is removed, at the latest
    /// before the next line, so that it spoils no other.
    pub(super) fn append(&mut self, line: &str) -> std::io::Result<()> {
        self.mend()?;
        let whole_bytes = self.to.length_bytes()?;
        let written = self
            .to
            .write_all(format!("{line}\n").as_bytes())
            .and_then(|()| self.to.sync());
        if written.is_err() {
            self.torn_at_bytes = Some(whole_bytes);
            // If this fails, it is retried before the next line.
            let _ = self.mend();
        }
        written
    }

    fn mend(&mut self) -> std::io::Result<()> {
        if self.unended {
            self.end_line()?;
            self.unended = false;
        }
        let Some(whole_bytes) = self.torn_at_bytes else {
            return Ok(());
        };
        // A torn line that cannot be cut off is ended: no record, but on its own line.
        if self.to.cut(whole_bytes).is_err() {
            self.end_line()?;
        }
        self.torn_at_bytes = None;
        Ok(())
    }

    /// Ends a partial line on the disk: if a failed sync of the next line lost the newline, that
    /// line would belong to the partial one.
    fn end_line(&mut self) -> std::io::Result<()> {
        self.to.write_all(b"\n")?;
        self.to.sync()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Error, ErrorKind, Write};
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

    impl DiskFile for Disk {
        fn sync(&self) -> std::io::Result<()> {
            Ok(())
        }
        fn length_bytes(&self) -> std::io::Result<u64> {
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
            let mut log = Log::new(Box::new(disk.clone()), false);
            log.append("one").unwrap();
            log.append("this is torn").unwrap_err();
            if !cuts_at_once {
                assert_eq!(text(&disk), "one\nthis is ");
                // Fails until the torn part can be removed.
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
