// SPDX-License-Identifier: Apache-2.0
//! Numbers of egress ports, which may be unknown.

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserializer, Serialize, Serializer};
use std::fmt;

/// Represents the egress port of a packet whose report does not name it. No port has this
/// number, which means "not available" on the wire.
pub const UNKNOWN_PORT: u32 = u32::MAX;

const UNKNOWN: &str = "unknown";

/// Returns the port, or `None` if it is unknown.
#[must_use]
pub fn known_port(port: u32) -> Option<u32> {
    (port != UNKNOWN_PORT).then_some(port)
}

/// A port as shown to people and in labels: its number, or `unknown`.
#[derive(Clone, Copy, Debug)]
pub struct ShownPort(pub u32);

impl fmt::Display for ShownPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match known_port(self.0) {
            Some(port) => fmt::Display::fmt(&port, f),
            None => f.write_str(UNKNOWN),
        }
    }
}

impl Serialize for ShownPort {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match known_port(self.0) {
            Some(port) => to.serialize_u32(port),
            None => to.serialize_str(UNKNOWN),
        }
    }
}

impl std::str::FromStr for ShownPort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse().ok().and_then(known_port) {
            Some(port) => Ok(Self(port)),
            None if text == UNKNOWN => Ok(Self(UNKNOWN_PORT)),
            None => Err(format!(
                "\"{text}\": expected a port of 0 to {}, or \"{UNKNOWN}\"",
                UNKNOWN_PORT - 1
            )),
        }
    }
}

/// Deserialises a port: a number, `unknown`, or nothing.
struct Found;

impl<'de> Visitor<'de> for Found {
    type Value = Option<u32>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a port of 0 to {}, or \"{UNKNOWN}\"", UNKNOWN_PORT - 1)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        let port = u32::try_from(number).ok().and_then(known_port);
        let wrong = || E::invalid_value(Unexpected::Unsigned(number), &self);
        port.map(Some).ok_or_else(wrong)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        let port = text.parse::<ShownPort>().map_err(E::custom)?;
        Ok(Some(port.0))
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_any(self)
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// For serde: the port in a response; null if unknown.
pub mod answered_port {
    use super::{Found, UNKNOWN_PORT, known_port};
    use serde::{Deserializer, Serialize as _, Serializer};

    /// Serialises the number, or null.
    pub fn serialize<S: Serializer>(port: &u32, to: S) -> Result<S::Ok, S::Error> {
        known_port(*port).serialize(to)
    }

    /// Deserialises a number; null and `unknown` become [`UNKNOWN_PORT`].
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
        let found = from.deserialize_option(Found)?;
        Ok(found.unwrap_or(UNKNOWN_PORT))
    }
}

/// For serde: the port in a path; `unknown` if it is unknown.
pub mod port_in_path {
    use super::{Found, ShownPort};
    use serde::de::Error as _;
    use serde::{Deserializer, Serialize as _, Serializer};

    /// Serialises the number, or `unknown`.
    pub fn serialize<S: Serializer>(port: &u32, to: S) -> Result<S::Ok, S::Error> {
        ShownPort(*port).serialize(to)
    }

    /// Deserialises a number; `unknown` becomes [`super::UNKNOWN_PORT`].
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
        let found = from.deserialize_any(Found)?;
        found.ok_or_else(|| D::Error::missing_field("port"))
    }
}

/// For serde, with `default`: an optional port in a request.
pub mod asked_port {
    use super::{Found, ShownPort};
    use serde::{Deserializer, Serialize as _, Serializer};

    /// Serialises the number, `unknown`, or null for `None`.
    pub fn serialize<S: Serializer>(port: &Option<u32>, to: S) -> Result<S::Ok, S::Error> {
        port.map(ShownPort).serialize(to)
    }

    /// Deserialises a number; `unknown` becomes [`super::UNKNOWN_PORT`], null becomes `None`.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
        from.deserialize_option(Found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_stands_for_a_port_that_is_not_known() {
        assert_eq!((known_port(0), known_port(UNKNOWN_PORT)), (Some(0), None));
        let shown = [7, UNKNOWN_PORT].map(|port| ShownPort(port).to_string());
        assert_eq!(shown, ["7", "unknown"]);
    }
}
