// SPDX-License-Identifier: Apache-2.0
//! Pushes the program of a plan.

use super::driver::P4Runtime;
use crate::{Error, Provision, PushMode};
use std::path::Path;
use std::sync::atomic::Ordering;
use tidemark_proto::p4::v1 as p4;

impl P4Runtime {
    /// Pushes the program of the plan if the switch does not have it.
    pub(super) async fn load(&self, plan: &Provision) -> Result<(), Error> {
        self.forget_program().await;
        let (p4info, program) = match (plan.push, &plan.p4info, &plan.program) {
            (PushMode::Never, ..) | (_, None, None) => return Ok(()),
            (_, Some(i), Some(p)) => (i, p),
            _ => {
                return Err(Error::value(
                    "provision",
                    "p4info and program go together; give both or neither",
                ));
            }
        };
        let info_bytes = read_file(p4info)?;
        let device_config = read_file(program)?;
        let info = tidemark_proto::p4info::parse(&info_bytes).map_err(|e| Error::File {
            path: p4info.display().to_string(),
            problem: e.to_string(),
        })?;
        let cookie = digest(&[&info_bytes, &device_config]);
        if plan.push == PushMode::IfDifferent {
            let loaded = self.client.pipeline().await?;
            if loaded.and_then(|l| l.cookie).map(|c| c.cookie) == Some(cookie) {
                return Ok(());
            }
        }
        // Set before sending, because the answer may be lost.
        self.push_untold.store(true, Ordering::Relaxed);
        self.client
            .push(p4::ForwardingPipelineConfig {
                p4info: Some(info),
                p4_device_config: device_config,
                cookie: Some(p4::forwarding_pipeline_config::Cookie { cookie }),
            })
            .await
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|e| Error::File {
        path: path.display().to_string(),
        problem: format!("cannot be read: {e}"),
    })
}

/// Returns the FNV-1a hash of the parts; it only tells programs apart.
fn digest(parts: &[&[u8]]) -> u64 {
    let bytes = parts.iter().flat_map(|p| p.iter());
    bytes.fold(0xcbf2_9ce4_8422_2325, |h, &b| {
        (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
