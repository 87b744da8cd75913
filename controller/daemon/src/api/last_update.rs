// SPDX-License-Identifier: Apache-2.0
//! The `update` event, which carries all links.

use super::convert;
use crate::core::Core;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use tidemark_api::{Link, Update};
use tidemark_estimators::LinkId;

/// The last `update`, serialised once for all listeners to the same link.
#[derive(Debug, Default)]
pub struct LastUpdate(Mutex<Written>);

#[derive(Debug, Default)]
struct Written {
    unix_ms: u64,
    texts: BTreeMap<Option<LinkId>, Arc<str>>,
}

impl LastUpdate {
    /// Returns the `update` of `unix_ms` as JSON: every link, or one link and a summary of every
    /// link.
    pub fn text(
        &self,
        core: &Core,
        unix_ms: u64,
        only: Option<LinkId>,
    ) -> serde_json::Result<Arc<str>> {
        self.once(unix_ms, only, || {
            serde_json::to_string(&update(core, unix_ms, only))
        })
    }

    /// Returns the text of `unix_ms`, which the first caller writes.
    fn once(
        &self,
        unix_ms: u64,
        only: Option<LinkId>,
        write: impl FnOnce() -> serde_json::Result<String>,
    ) -> serde_json::Result<Arc<str>> {
        let mut last = self.0.lock();
        if last.unix_ms != unix_ms {
            *last = Written {
                unix_ms,
                texts: BTreeMap::new(),
            };
        }
        if let Some(text) = last.texts.get(&only) {
            return Ok(Arc::clone(text));
        }
        let text: Arc<str> = write()?.into();
        last.texts.insert(only, Arc::clone(&text));
        Ok(text)
    }
}

fn update(core: &Core, unix_ms: u64, only: Option<LinkId>) -> Update {
    let Some(one) = only else {
        return Update {
            unix_ms,
            links: links(core),
            others: Vec::new(),
        };
    };
    let ids = core.known_links();
    let chosen = ids.iter().filter(|&&id| id == one);
    Update {
        unix_ms,
        links: chosen.map(|&id| convert::link(core, id, false)).collect(),
        others: ids.iter().map(|&id| convert::summary(core, id)).collect(),
    }
}

fn links(core: &Core) -> Vec<Link> {
    let ids = core.known_links().into_iter();
    ids.map(|id| convert::link(core, id, false)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_viewers_cost_one_serialisation_a_second_and_link() {
        let last = LastUpdate::default();
        let link = |port| {
            Some(LinkId {
                node_id: 10,
                port,
                queue: 0,
            })
        };
        let mut written = 0;
        for unix_ms in [1000, 2000] {
            for viewer in 0..30 {
                let only = [None, link(5), link(7)][viewer % 3];
                let text = last.once(unix_ms, only, || {
                    written += 1;
                    Ok(format!("{unix_ms} {only:?}"))
                });
                assert_eq!(&*text.unwrap(), format!("{unix_ms} {only:?}"));
            }
        }
        assert_eq!(written, 2 * 3);
    }

    #[test]
    fn what_could_not_be_written_is_tried_again() {
        let last = LastUpdate::default();
        let broken = || serde_json::from_str::<String>("{");
        assert!(last.once(1, None, broken).is_err());
        assert_eq!(&*last.once(1, None, || Ok("x".into())).unwrap(), "x");
    }
}
