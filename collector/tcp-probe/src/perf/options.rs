// SPDX-License-Identifier: Apache-2.0
//! Options: the events to read, and the buffers.

use std::path::PathBuf;

use super::clock::Clock;
use super::error::OpenError;
use super::filter::Filter;

/// Options of a reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Clock that stamps the records.
    pub clock: Clock,
    /// Ring buffer per CPU; a power of two and a multiple of the page size.
    pub ring_bytes: usize,
    /// Fill level of a ring that wakes the reader.
    pub wakeup_bytes: u32,
    /// Also read `tcp_retransmit_skb`.
    pub retransmits: bool,
    /// Also read `tcp_cong_state_set`.
    pub cong_states: bool,
    /// The sockets to read.
    pub filter: Filter,
    /// Mount point of tracefs; `None` looks in the conventional places.
    pub tracefs: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock: Clock::MonoRaw,
            ring_bytes: 4 << 20,
            wakeup_bytes: 64 << 10,
            retransmits: true,
            cong_states: true,
            filter: Filter::default(),
            tracefs: None,
        }
    }
}

impl Options {
    pub(super) fn check_sizes(&self) -> Result<(), OpenError> {
        let page = page_bytes();
        if !self.ring_bytes.is_power_of_two() || self.ring_bytes < page || self.ring_bytes > 1 << 30
        {
            return Err(OpenError::RingSize {
                bytes: self.ring_bytes,
                least: page,
            });
        }
        if self.wakeup_bytes as usize >= self.ring_bytes {
            return Err(OpenError::Watermark {
                wakeup_bytes: self.wakeup_bytes,
                ring_bytes: self.ring_bytes,
            });
        }
        Ok(())
    }
}

fn page_bytes() -> usize {
    // SAFETY: no arguments that could be wrong.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_checked() {
        let options = |ring_bytes, wakeup_bytes| Options {
            ring_bytes,
            wakeup_bytes,
            ..Options::default()
        };
        options(1 << 20, 1000).check_sizes().unwrap();
        assert!(matches!(
            options(1000, 10).check_sizes(),
            Err(OpenError::RingSize { .. })
        ));
        assert!(matches!(
            options(12288, 10).check_sizes(),
            Err(OpenError::RingSize { .. })
        ));
        assert!(matches!(
            options(4096, 4096).check_sizes(),
            Err(OpenError::Watermark { .. })
        ));
    }
}
