// SPDX-License-Identifier: Apache-2.0
//! The log's file: whole lines, each on the disk before the next.

use durable_fs::DiskFile;

/// A log of whole lines.
pub(super) struct Log {
    to: Box<dyn DiskFile>,
    /// Up to where the lines are whole, where a part of one lies beyond it.
    torn_at_bytes: Option<u64>,
    /// A former run left a part of a line at the end.
    unended: bool,
}

impl Log {
    /// `unended`: there is no end of line at the end of what is there. It is put
    /// there before the next line, as there may be no room for it now.
    pub(super) fn new(to: Box<dyn DiskFile>, unended: bool) -> Self {
        Self {
            to,
            torn_at_bytes: None,
            unended,
        }
    }

    /// Appends a line, to the disk. What a failure leaves of it is taken away, at
    /// the latest before the next one, so that it spoils no other.
    pub(super) fn append(&mut self, line: &str) -> std::io::Result<()> {
        self.mend()?;
        let whole_bytes = self.to.length_bytes()?;
        let written = self
            .to
            .write_all(format!("{line}\n").as_bytes())
            .and_then(|()| self.to.sync());
        if written.is_err() {
            self.torn_at_bytes = Some(whole_bytes);
            // A failure here is tried again before the next line.
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
        // A torn line that cannot be cut off is ended: no record, but alone.
        if self.to.cut(whole_bytes).is_err() {
            self.end_line()?;
        }
        self.torn_at_bytes = None;
        Ok(())
    }

    /// Ends a line that is none, on the disk: were its end forgotten by a failed
    /// sync of the next line, that one would belong to it.
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
