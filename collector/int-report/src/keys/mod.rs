// SPDX-License-Identifier: Apache-2.0
//! Keys that an exporter shares with the collector, and the code in the tag of its reports: the
//! first 128 bits (RFC 4868, §2.6) of HMAC-SHA-256 (RFC 2104) over everything before it.
//! `crate::tag` defines the tag's position on the wire; docs/decisions/0018-tagged-reports.md
//! explains the choice of code.

mod key_file;

pub use key_file::KeyFileError;

use crate::tag::{self, CODE_BYTES, Run, Tagged, Untaggable};
use ring::hmac;
use std::fmt;
use std::sync::Arc;

/// Minimum length of a key in bytes: the strength of the code.
pub const MIN_KEY_BYTES: usize = CODE_BYTES;
/// Maximum length of a key in bytes: a block of the hash.
pub const MAX_KEY_BYTES: usize = 64;
/// Maximum number of keys valid at once: the key in use and, during a key change, another.
pub const MAX_KEYS: usize = 2;

/// The keys of one exporter; never printed. Cheap to clone.
#[derive(Clone)]
pub struct ReportKeys(Arc<[hmac::Key]>);

impl fmt::Debug for ReportKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReportKeys({} of them)", self.0.len())
    }
}

/// Equal if they hold the same keys in the same order.
impl PartialEq for ReportKeys {
    fn eq(&self, other: &Self) -> bool {
        let prints = |keys: &Self| -> Vec<_> { keys.0.iter().map(|k| code(k, b"same?")).collect() };
        prints(self) == prints(other)
    }
}

impl Eq for ReportKeys {}

impl ReportKeys {
    /// Takes raw keys, of [`MIN_KEY_BYTES`] to [`MAX_KEY_BYTES`] each; the first signs. Returns
    /// `None` if there are none or too many, or if one is too short or too long.
    #[must_use]
    pub fn new(keys: &[&[u8]]) -> Option<Self> {
        let fits = |key: &&[u8]| (MIN_KEY_BYTES..=MAX_KEY_BYTES).contains(&key.len());
        let usable = (1..=MAX_KEYS).contains(&keys.len()) && keys.iter().all(fits);
        let key = |bytes: &&[u8]| hmac::Key::new(hmac::HMAC_SHA256, bytes);
        usable.then(|| Self(keys.iter().map(key).collect()))
    }

    /// Appends a tag to a datagram of reports, with its run if that is known.
    ///
    /// # Errors
    /// If nothing can follow its reports.
    pub fn append_tag(&self, payload: &mut Vec<u8>, run: Option<Run>) -> Result<(), Untaggable> {
        tag::append(payload, run, |signed| {
            // There is always a first.
            self.0
                .first()
                .map_or([0; CODE_BYTES], |key| code(key, signed))
        })
    }

    /// Whether one of the keys made the code of a datagram. Takes as long for a
    /// wrong code as for a right one.
    #[must_use]
    pub fn verify(&self, tagged: &Tagged<'_>) -> bool {
        self.0.iter().fold(false, |found, key| {
            found | same(&code(key, tagged.signed), tagged.code)
        })
    }
}

fn code(key: &hmac::Key, signed: &[u8]) -> [u8; CODE_BYTES] {
    let whole = hmac::sign(key, signed);
    let first = whole.as_ref().first_chunk();
    // SHA-256 gives 32 bytes.
    first.copied().unwrap_or_default()
}

/// Compares in time that does not depend on where they differ.
fn same(a: &[u8; CODE_BYTES], b: &[u8; CODE_BYTES]) -> bool {
    std::hint::black_box(a.iter().zip(b).fold(0, |d, (x, y)| d | (x ^ y))) == 0
}

#[cfg(test)]
mod tests;
