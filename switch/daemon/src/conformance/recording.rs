// SPDX-License-Identifier: Apache-2.0
//! A recording: writes and frames that BMv2 received, and the frames that it sent.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use prost::Message as _;
use serde_json::Value;
use tidemark_proto::p4::v1::Update;

/// Frames by the port on which they leave, in order.
pub(super) type Sent = BTreeMap<u32, Vec<Vec<u8>>>;

/// Frames that arrived on a port, and the frames that left before the next ones came.
pub(super) struct Step {
    pub port: u32,
    pub frames: Vec<Vec<u8>>,
    pub sent: Sent,
}

pub(super) struct Recording {
    /// Writes, all of which BMv2 accepted.
    pub writes: Vec<Update>,
    pub steps: Vec<Step>,
}

impl Recording {
    /// # Errors
    /// The file cannot be read or is not a recording.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let at = || format!("recording {}", path.display());
        let bytes = std::fs::read(path)
            .context("cannot read")
            .with_context(at)?;
        Self::parse(&bytes).with_context(at)
    }

    fn parse(bytes: &[u8]) -> Result<Self> {
        let root: Value = serde_json::from_slice(bytes).context("not JSON")?;
        let writes = list(&root, "writes")?.iter().map(update);
        let steps = list(&root, "frames")?
            .iter()
            .enumerate()
            .map(|(n, s)| step(s).with_context(|| format!("frame {n}")));
        Ok(Self {
            writes: writes.collect::<Result<_>>()?,
            steps: steps.collect::<Result<_>>()?,
        })
    }
}

fn update(v: &Value) -> Result<Update> {
    Update::decode(&*hex(v)?).context("a write is not a p4.v1.Update")
}

fn step(v: &Value) -> Result<Step> {
    let port = v.get("port").and_then(Value::as_u64);
    let mut sent = Sent::new();
    let out = v.get("out").and_then(Value::as_object);
    for (port, frames) in out.context("\"out\" is not an object")? {
        let port = port.parse().with_context(|| format!("port \"{port}\""))?;
        let frames = frames.as_array().context("frames are not a list")?;
        sent.insert(port, frames.iter().map(hex).collect::<Result<_>>()?);
    }
    Ok(Step {
        port: u32::try_from(port.context("\"port\" is not a number")?)?,
        frames: list(v, "in")?.iter().map(hex).collect::<Result<_>>()?,
        sent,
    })
}

fn list<'v>(v: &'v Value, key: &str) -> Result<&'v Vec<Value>> {
    let list = v.get(key).and_then(Value::as_array);
    list.ok_or_else(|| anyhow!("\"{key}\" is not a list"))
}

fn hex(v: &Value) -> Result<Vec<u8>> {
    let digits = v.as_str().context("bytes are not a string of hex digits")?;
    crate::stf::hex(digits)
}
