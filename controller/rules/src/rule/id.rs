// SPDX-License-Identifier: Apache-2.0
//! Identifier of the rule or decision behind a limit.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// Identifier of the decision behind a limit: a rule of the list, or the advisor itself.
///
/// Serialised as text: the rule's id, or the advisor's name for its own decision. Any text can be
/// read: records outlive the rules of the version that wrote them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RuleId {
    /// A rule of the list, by its id.
    Listed(Cow<'static, str>),
    /// Hardly any loss was seen, so all flows are assumed to lose packets at the same time (BSCL
    /// eq. 14 and 16 with q = 1).
    Synchronised,
    /// According to measurements, the limit in force meets the target.
    LimitInForce,
    /// A limit tried earlier under the same traffic did better.
    LimitTried,
    /// The most that flows that follow a model of the path (BBR) keep in flight.
    InFlightCap,
    /// The smallest limit that the options allow.
    Smallest,
    /// The largest limit that the target can hold.
    Largest,
}

impl RuleId {
    /// The advisor's own decisions.
    pub const OWN: [RuleId; 6] = [
        RuleId::Synchronised,
        RuleId::LimitInForce,
        RuleId::LimitTried,
        RuleId::InFlightCap,
        RuleId::Smallest,
        RuleId::Largest,
    ];

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        match self {
            RuleId::Listed(id) => id,
            RuleId::Synchronised => "synchronised",
            RuleId::LimitInForce => "limit_in_force",
            RuleId::LimitTried => "limit_tried",
            RuleId::InFlightCap => "in_flight_cap",
            RuleId::Smallest => "smallest",
            RuleId::Largest => "largest",
        }
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl From<String> for RuleId {
    fn from(text: String) -> Self {
        let own = Self::OWN.into_iter().find(|id| id.as_str() == text);
        own.unwrap_or(RuleId::Listed(Cow::Owned(text)))
    }
}

impl Serialize for RuleId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for RuleId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_as_it_is_written() {
        let listed = RuleId::Listed("a_rule_of_another_version".into());
        for id in RuleId::OWN.into_iter().chain([listed]) {
            let json = serde_json::to_string(&id).unwrap();
            assert_eq!(json, format!("\"{id}\""));
            assert_eq!(serde_json::from_str::<RuleId>(&json).unwrap(), id);
        }
    }
}
