// SPDX-License-Identifier: Apache-2.0
//! All links, and the event that carries them.

use super::convert;
use crate::core::{Core, lock};
use std::sync::{Arc, Mutex};
use tidemark_api::{Links, Update};

/// The last `update`, written once for all listeners.
#[derive(Debug, Default)]
pub struct LastUpdate(Mutex<(u64, Arc<str>)>);

impl LastUpdate {
    /// The `update` of that time as JSON.
    ///
    /// # Errors
    /// The `update` cannot be written as JSON.
    pub fn text(&self, core: &Core, unix_ms: u64) -> serde_json::Result<Arc<str>> {
        let mut last = lock(&self.0);
        if last.0 != unix_ms {
            let update = Update {
                unix_ms,
                links: links(core).links,
            };
            *last = (unix_ms, serde_json::to_string(&update)?.into());
        }
        Ok(Arc::clone(&last.1))
    }
}

/// Every link, without the rules of its advice.
pub(super) fn links(core: &Core) -> Links {
    let ids = core.known_links().into_iter();
    Links {
        links: ids.map(|id| convert::link(core, id, false)).collect(),
    }
}
