// SPDX-License-Identifier: Apache-2.0
//! The program as a whole.

use super::keys;
use super::types::{Runtime, TableShape};
use crate::errors::Outcome;
use crate::pipeline::{Table, unnamed_objects};
use crate::write::Writer;
use tidemark_proto::p4::config::v1::P4Info;
use tidemark_proto::p4::v1 as p4;

impl Runtime {
    /// Returns the running program as p4c wrote it; `None` if there is none yet.
    pub async fn program(&self) -> Option<Vec<u8>> {
        let device = self.shared.device.read().await;
        let pipeline = device.pipeline()?;
        Some(crate::device_config::program(&pipeline.config.p4_device_config).into_owned())
    }

    /// Returns the P4Info, completed with the program's objects that it does not name; `None`
    /// if there is no program yet.
    pub async fn p4info(&self) -> Option<P4Info> {
        let device = self.shared.device.read().await;
        let pipeline = device.pipeline()?;
        let mut info = pipeline.config.p4info.clone().unwrap_or_default();
        let rest = unnamed_objects(&info, &pipeline.program);
        info.tables.extend(rest.tables);
        info.actions.extend(rest.actions);
        Some(info)
    }

    /// Replaces the program, like BMv2's swap: all state written so far is lost. P4Runtime clients
    /// have to push the program before they can use it.
    ///
    /// # Errors
    /// The program cannot be run.
    pub async fn swap(&self, program: Vec<u8>) -> Outcome<()> {
        let config = p4::ForwardingPipelineConfig {
            p4_device_config: program,
            ..Default::default()
        };
        let mut device = self.shared.device.write().await;
        device.load_unannounced(config).await?;
        self.shared.restart_digests(&device);
        Ok(())
    }

    /// Checks whether a program can be run.
    ///
    /// # Errors
    /// The program cannot be run.
    pub fn check(program: &[u8]) -> Outcome<()> {
        let config = p4::ForwardingPipelineConfig {
            p4_device_config: program.to_vec(),
            ..Default::default()
        };
        crate::pipeline::Pipeline::new(config).map(|_| ())
    }

    /// Resets tables, profiles, arrays and multicast to the state after loading, but without the
    /// entries compiled into the program. Mirroring stays, as in BMv2.
    ///
    /// # Errors
    /// The data plane has stopped.
    pub async fn reset(&self) -> Outcome<()> {
        let mut device = self.shared.device.write().await;
        let Some(mut w) = device.writer() else {
            return Ok(());
        };
        w.reset_tables().await?;
        w.reset_profiles().await?;
        w.reset_arrays().await?;
        w.reset_groups().await
    }

    /// Describes all tables.
    pub async fn tables(&self) -> Vec<TableShape> {
        let device = self.shared.device.read().await;
        let Some(p) = device.pipeline() else {
            return Vec::new();
        };
        let shape = |t: &Table| TableShape {
            name: t.name.clone(),
            keys: t
                .keys
                .iter()
                .map(|k| (k.name.clone(), keys::kind(k), k.values.bits))
                .collect(),
            actions: t
                .actions
                .iter()
                .filter_map(|(id, _)| p.actions.get(id))
                .map(|a| {
                    let widths = a.params.iter().map(|p| p.values.bits).collect();
                    (a.name.clone(), widths)
                })
                .collect(),
            with_priority: t.needs_priority(),
            indirect: t.profile.is_some(),
        };
        p.tables.values().map(shape).collect()
    }
}

impl Writer<'_> {
    pub(super) async fn apply_new(
        &mut self,
        kind: p4::update::Type,
        entity: p4::entity::Entity,
    ) -> Outcome<()> {
        self.apply(&p4::Update {
            r#type: kind as i32,
            entity: Some(p4::Entity {
                entity: Some(entity),
            }),
        })
        .await
    }
}
