// SPDX-License-Identifier: Apache-2.0
//! Influence of each quantity on an advice, computed on demand.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::{Arc, LazyLock};

/// Influence of one estimated quantity on an advice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Sensitivity {
    /// `n_b`, `alpha` or `delta`.
    pub quantity: String,
    /// Value of the quantity.
    pub value: f64,
    /// The limit advised if the quantity is 20 % smaller, bytes.
    pub limit_bytes_less: Option<u64>,
    /// The limit advised if the quantity is 20 % larger, bytes.
    pub limit_bytes_more: Option<u64>,
    /// Influence of the quantity, in words.
    pub decides: String,
}

type Find = dyn FnOnce() -> Vec<Sensitivity> + Send;

/// Influence of N_b, α and Δ on an advice. It takes several times as long to compute as the advice
/// itself, so it is computed on first access.
#[derive(Clone)]
pub struct Sensitivities(Arc<LazyLock<Vec<Sensitivity>, Box<Find>>>);

impl Sensitivities {
    /// Creates the sensitivities, which `find` computes once, on first access.
    pub(crate) fn when_looked_at(find: impl FnOnce() -> Vec<Sensitivity> + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(find))))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.get().is_empty()
    }

    /// Returns one entry per known quantity; empty without an advice.
    pub fn get(&self) -> &[Sensitivity] {
        &self.0
    }
}

impl Default for Sensitivities {
    fn default() -> Self {
        Self::when_looked_at(Vec::new)
    }
}

impl std::fmt::Debug for Sensitivities {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

impl PartialEq for Sensitivities {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Serialize for Sensitivities {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.get().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Sensitivities {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found = Vec::<Sensitivity>::deserialize(deserializer)?;
        Ok(Self::when_looked_at(move || found))
    }
}
