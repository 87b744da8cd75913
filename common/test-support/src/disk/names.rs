// SPDX-License-Identifier: Apache-2.0
//! File names: as programs see them, as synced, and the pending changes.

use crate::disk::cut::Survival;
use crate::rng::Rng;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Target of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Directory,
    File(usize),
}

/// All names, by full path.
pub(crate) type Tree = BTreeMap<PathBuf, Node>;

#[derive(Clone, Debug)]
pub(crate) enum Change {
    Add(PathBuf, Node),
    Remove(PathBuf),
    Rename(PathBuf, PathBuf, Node),
}

impl Change {
    fn apply(&self, to: &mut Tree) {
        match self {
            Self::Add(path, node) => {
                to.insert(path.clone(), *node);
            }
            Self::Remove(path) => {
                to.remove(path);
            }
            Self::Rename(from, path, node) => {
                to.remove(from);
                to.insert(path.clone(), *node);
            }
        }
    }

    /// Returns whether a sync of the directory writes this change. A rename between two
    /// directories is one journal entry, which a sync of either writes.
    fn is_in(&self, directory: &Path) -> bool {
        match self {
            Self::Add(path, _) | Self::Remove(path) => path.parent() == Some(directory),
            Self::Rename(from, to, _) => {
                from.parent() == Some(directory) || to.parent() == Some(directory)
            }
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// Names as programs see them.
    pub live: Tree,
    synced: Tree,
    pending: Vec<Change>,
}

impl Names {
    pub(crate) fn root() -> Self {
        let root: Tree = [(PathBuf::from("/"), Node::Directory)].into();
        Self {
            live: root.clone(),
            synced: root,
            pending: Vec::new(),
        }
    }

    pub(crate) fn change(&mut self, change: Change) {
        change.apply(&mut self.live);
        self.pending.push(change);
    }

    pub(crate) fn sync(&mut self, directory: &Path) {
        for change in std::mem::take(&mut self.pending) {
            if change.is_in(directory) {
                change.apply(&mut self.synced);
            } else {
                self.pending.push(change);
            }
        }
    }

    /// Cuts the power and keeps only the surviving names.
    pub(crate) fn survive(&mut self, how: Survival, rng: &mut Rng) {
        let mut left = self.synced.clone();
        let how = match how {
            Survival::Mixed => Survival::one(rng),
            other => other,
        };
        match how {
            Survival::Nothing => {}
            Survival::Beginning | Survival::Torn => {
                let most = rng.index(self.pending.len() + 1);
                self.pending
                    .iter()
                    .take(most)
                    .for_each(|c| c.apply(&mut left));
            }
            // A surviving change may depend on a lost one.
            Survival::SomeSectors | Survival::Mixed => {
                for change in &self.pending {
                    if rng.chance(0.5) {
                        change.apply(&mut left);
                    }
                }
            }
            Survival::Everything | Survival::LengthAlone => {
                self.pending.iter().for_each(|c| c.apply(&mut left));
            }
        }
        // Entries of a lost directory are lost.
        let gone = |path: &Path| {
            path.ancestors()
                .skip(1)
                .any(|a| left.get(a) != Some(&Node::Directory))
        };
        let kept = left.iter().filter(|(path, _)| !gone(path));
        let kept: Tree = kept.map(|(path, node)| (path.clone(), *node)).collect();
        self.live = kept.clone();
        self.synced = kept;
        self.pending.clear();
    }
}
