// SPDX-License-Identifier: Apache-2.0
//! The hosts that send samples, by the index that rows refer to.

/// Hosts that may send samples.
const MAX_HOSTS: usize = 1024;

/// Names of hosts, bounded in number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hosts {
    /// In the order of their indexes.
    pub names: Vec<String>,
    /// The first host's clock also stamps the reception of reports.
    has_local: bool,
}

impl Hosts {
    /// `local`: the host whose clock also stamps the reception of reports.
    pub(crate) fn new(local: Option<&str>) -> Self {
        Self {
            names: local.into_iter().map(str::to_owned).collect(),
            has_local: local.is_some(),
        }
    }

    /// Index of the host whose clock also stamps reports.
    pub(crate) fn local(&self) -> Option<u16> {
        self.has_local.then_some(0)
    }

    /// Index of a known host.
    pub(crate) fn find(&self, name: &str) -> Option<u16> {
        self.names.iter().position(|h| h == name).map(|i| i as u16)
    }

    /// Index of a new host; `None` when there are too many.
    pub(crate) fn add(&mut self, name: &str) -> Option<u16> {
        if self.names.len() >= MAX_HOSTS {
            return None;
        }
        self.names.push(name.to_owned());
        Some((self.names.len() - 1) as u16)
    }
}
