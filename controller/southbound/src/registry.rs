// SPDX-License-Identifier: Apache-2.0
//! The list of drivers, and their selection in a configuration.
//!
//! A switch's configuration has keys that apply to any driver ([`SwitchAddress`]) and at most one
//! section, which has the name of a driver and belongs to it ([`DriverSection`]):
//!
//! ```toml
//! [[switches]]
//! address = "10.0.0.7:50052"
//! bfrt = { p4_name = "tidemark" }
//! ```
//!
//! Without such a section the switch uses the first of [`DRIVERS`].

pub use crate::driver_kind::{DriverKind, Section, SwitchAddress};

use crate::{Error, Southbound, bfrt, p4rt};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::Arc;

/// All drivers. The first one is used if a configuration names none.
pub static DRIVERS: [&DriverKind; 2] = [&p4rt::DRIVER, &bfrt::DRIVER];

/// The driver of a switch, with that driver's section of the configuration.
///
/// It parses the keys of the section that are not the switch's own, so use it in a struct with
/// `#[serde(flatten)]`. A key that is not the name of a driver is an error.
#[derive(Clone, Debug)]
pub struct DriverSection {
    kind: &'static DriverKind,
    section: Option<Section>,
}

impl Default for DriverSection {
    fn default() -> Self {
        Self {
            kind: DRIVERS[0],
            section: None,
        }
    }
}

impl PartialEq for DriverSection {
    fn eq(&self, other: &Self) -> bool {
        self.kind.name == other.kind.name && self.section == other.section
    }
}

impl DriverSection {
    /// Returns the driver.
    pub fn kind(&self) -> &'static DriverKind {
        self.kind
    }

    /// Checks the section without connecting. Needs no runtime.
    pub fn check(&self, address: &SwitchAddress) -> Result<(), Error> {
        (self.kind.check)(address, &self.section.clone().unwrap_or_default())
    }

    /// Creates the driver; it connects on first use. Needs a tokio runtime.
    ///
    /// # Errors
    /// As for [`Self::check`], or an address that is not `host:port` or a URL.
    pub fn connect(&self, address: &SwitchAddress) -> Result<Arc<dyn Southbound>, Error> {
        (self.kind.connect)(address, &self.section.clone().unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for DriverSection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut found: Option<Self> = None;
        for (key, value) in Section::deserialize(deserializer)? {
            let Some(kind) = DRIVERS.into_iter().find(|d| d.name == key) else {
                let names = DRIVERS.map(|d| d.name).join(", ");
                return Err(D::Error::custom(format!(
                    "unknown field `{key}`: neither a key of a switch nor the section of a driver ({names})"
                )));
            };
            let section = match value {
                serde_json::Value::Object(section) => section,
                // Earlier versions saved absent sections as null.
                serde_json::Value::Null => continue,
                other => {
                    return Err(D::Error::custom(format!(
                        "{key}: is {other}, must be a table of the driver's settings"
                    )));
                }
            };
            if let Some(first) = found {
                return Err(D::Error::custom(format!(
                    "{} and {key}: a switch has one driver, remove one of the two",
                    first.kind.name
                )));
            }
            found = Some(Self {
                kind,
                section: Some(section),
            });
        }
        Ok(found.unwrap_or_default())
    }
}

impl Serialize for DriverSection {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let section = self.section.as_ref().map(|s| (self.kind.name, s));
        serializer.collect_map(section)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Switch {
        node: u32,
        #[serde(flatten)]
        driver: DriverSection,
    }

    fn switch(json: &str) -> Result<Switch, String> {
        serde_json::from_str(json).map_err(|e| e.to_string())
    }

    fn address() -> SwitchAddress {
        SwitchAddress {
            address: "127.0.0.1:1".into(),
            limit_unit_bytes: 80,
            ..SwitchAddress::default()
        }
    }

    #[test]
    fn names_are_unique_and_make_that_driver() {
        let names: BTreeSet<&str> = DRIVERS.iter().map(|d| d.name).collect();
        assert_eq!(names.len(), DRIVERS.len());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let _inside = runtime.enter();
        for (json, name) in [
            (r#"{"node": 1}"#, "p4runtime"),
            (r#"{"node": 1, "p4runtime": {}}"#, "p4runtime"),
            (r#"{"node": 1, "bfrt": {"p4_name": "tidemark"}}"#, "bfrt"),
        ] {
            let s = switch(json).unwrap();
            s.driver.check(&address()).unwrap();
            let driver = s.driver.connect(&address()).unwrap();
            assert_eq!(driver.describe().driver, name);
            assert_eq!(driver.describe().limit_unit_bytes, 80);
            assert_eq!(s.driver.kind().name, name);
        }
    }

    #[test]
    fn a_section_survives_the_round_trip() {
        for json in [
            r#"{"node":1}"#,
            r#"{"node":1,"bfrt":{"p4_name":"x","queues":{"5":{"pg_id":1,"pg_queue":8,"pipe":0}}}}"#,
        ] {
            let s = switch(json).unwrap();
            let again = serde_json::to_string(&s).unwrap();
            assert_eq!(switch(&again).unwrap(), s);
        }
        assert_eq!(switch(r#"{"node":1,"bfrt":null}"#), switch(r#"{"node":1}"#));
    }

    #[test]
    fn what_no_driver_can_use_is_named() {
        let e = switch(r#"{"node":1,"bfrtt":{}}"#).unwrap_err();
        assert!(e.contains("bfrtt") && e.contains("p4runtime, bfrt"), "{e}");
        let e = switch(r#"{"node":1,"bfrt":{},"p4runtime":{}}"#).unwrap_err();
        assert!(e.contains("one driver"), "{e}");
        let e = switch(r#"{"node":1,"bfrt":7}"#).unwrap_err();
        assert!(e.contains("must be a table"), "{e}");
        for (json, what) in [
            (r#"{"node":1,"bfrt":{}}"#, "p4_name"),
            (r#"{"node":1,"bfrt":{"p4_name":"x","pipe":1}}"#, "pipe"),
            (
                r#"{"node":1,"bfrt":{"p4_name":"x","queues":{"five":{"pipe":0,"pg_id":1,"pg_queue":8}}}}"#,
                "bfrt.queues.five",
            ),
            (r#"{"node":1,"p4runtime":{"role":"x"}}"#, "p4runtime.role"),
        ] {
            let e = switch(json).unwrap().driver.check(&address()).unwrap_err();
            assert!(e.to_string().contains(what), "{e}");
        }
        let far = SwitchAddress {
            device_id: 1 << 32,
            ..address()
        };
        let s = switch(r#"{"node":1,"bfrt":{"p4_name":"x"}}"#).unwrap();
        assert!(
            s.driver
                .check(&far)
                .unwrap_err()
                .to_string()
                .contains("device_id")
        );
    }
}
