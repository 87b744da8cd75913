// SPDX-License-Identifier: Apache-2.0
//! The device: its committed pipeline, the target that runs this pipeline, and a pipeline
//! saved for a later commit.

use crate::device_config;
use crate::errors::{Failure, Outcome, batch_status, refuse};
use crate::idle;
use crate::pipeline::Pipeline;
use crate::read::Reader;
use crate::store::Store;
use crate::target::Target;
use crate::write::Writer;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use tonic::Status;

/// Most entities in one message of a Read.
const ENTITIES_PER_RESPONSE: usize = 1_000;

struct Configured {
    pipeline: Arc<Pipeline>,
    store: Store,
}

struct Saved {
    configured: Configured,
    /// Updates that the commit replays.
    updates: Vec<p4::Update>,
}

pub(crate) struct Device {
    target: Arc<dyn Target>,
    committed: Option<Configured>,
    saved: Option<Saved>,
    /// The running program was not pushed by a client, which must happen before reads and writes.
    unannounced: bool,
}

fn verified(config: Option<p4::ForwardingPipelineConfig>) -> Outcome<Configured> {
    let config = config.ok_or_else(|| Failure::invalid("the request has no config"))?;
    let pipeline = Pipeline::new(config)?;
    let store = Store::new(&pipeline)?;
    Ok(Configured {
        pipeline: Arc::new(pipeline),
        store,
    })
}

impl Device {
    pub(crate) fn new(target: Arc<dyn Target>) -> Self {
        Self {
            target,
            committed: None,
            saved: None,
            unannounced: false,
        }
    }

    /// Returns a writer for the committed pipeline and its state.
    pub(crate) fn writer(&mut self) -> Option<Writer<'_>> {
        let committed = self.committed.as_mut()?;
        Some(Writer {
            pipeline: &committed.pipeline,
            store: &mut committed.store,
            target: Some(self.target.as_ref()),
        })
    }

    pub(crate) async fn load_unannounced(
        &mut self,
        config: p4::ForwardingPipelineConfig,
    ) -> Outcome<()> {
        self.load(verified(Some(config))?).await?;
        self.saved = None;
        self.unannounced = true;
        Ok(())
    }

    /// Checks that P4Runtime clients may read and write.
    pub(crate) fn check_announced(&self) -> Outcome<()> {
        match self.unannounced && self.saved.is_none() {
            true => Err(no_pipeline()),
            false => Ok(()),
        }
    }

    /// Returns the pipeline that packets run through.
    pub(crate) fn pipeline(&self) -> Option<&Arc<Pipeline>> {
        self.committed.as_ref().map(|c| &c.pipeline)
    }

    /// Returns the pipeline that reads and writes refer to.
    pub(crate) fn current_pipeline(&self) -> Option<&Arc<Pipeline>> {
        self.saved
            .as_ref()
            .map(|s| &s.configured.pipeline)
            .or(self.pipeline())
    }

    /// Returns the configurations of digests from packets.
    pub(crate) fn digests(&self) -> Option<&BTreeMap<u32, p4::digest_entry::Config>> {
        self.committed.as_ref().map(|c| &c.store.digests)
    }

    /// Returns the entries that are idle now, and the time to check again.
    pub(crate) async fn idle(&mut self, now: Instant) -> (Vec<p4::TableEntry>, Option<Instant>) {
        match &mut self.committed {
            Some(c) => idle::check(&c.pipeline, &mut c.store, self.target.as_ref(), now).await,
            None => (Vec::new(), None),
        }
    }

    pub(crate) async fn set_pipeline(
        &mut self,
        action: Action,
        config: Option<p4::ForwardingPipelineConfig>,
    ) -> Outcome<()> {
        match action {
            Action::Unspecified => Err(Failure::invalid("the action is not set")),
            Action::ReconcileAndCommit => {
                let configured = verified(config)?;
                self.reconcile(configured).await?;
                self.saved = None;
                Ok(())
            }
            Action::Commit if config.is_some() => Err(Failure::invalid(
                "COMMIT takes no config; it uses the saved one",
            )),
            Action::Commit => self.commit_saved().await,
            Action::Verify => verified(config).map(|_| ()),
            Action::VerifyAndSave => {
                let configured = verified(config)?;
                self.saved = Some(Saved {
                    configured,
                    updates: Vec::new(),
                });
                Ok(())
            }
            Action::VerifyAndCommit => {
                let configured = verified(config)?;
                self.load(configured).await?;
                self.saved = None;
                Ok(())
            }
        }
    }

    async fn load(&mut self, configured: Configured) -> Outcome<()> {
        self.target
            .load(&device_config::program(
                &configured.pipeline.config.p4_device_config,
            ))
            .await?;
        self.committed = Some(configured);
        self.unannounced = false;
        Ok(())
    }

    /// Commits while keeping all entries and other state written so far. Nothing changes
    /// unless all of it fits the new pipeline.
    async fn reconcile(&mut self, new: Configured) -> Outcome<()> {
        // State of a program that no client pushed has other ids.
        let Some(old) = self.committed.as_mut().filter(|_| !self.unannounced) else {
            return self.load(new).await;
        };
        let (a, b) = (&old.pipeline.config, &new.pipeline.config);
        if a.p4_device_config == b.p4_device_config && a.p4info == b.p4info {
            // An unchanged program continues without interruption, with its counters.
            old.pipeline = new.pipeline;
            self.unannounced = false;
            return Ok(());
        }
        let updates = old.store.replay(&old.pipeline, &new.store)?;
        let mut tried = Store::new(&new.pipeline)?;
        let mut writer = Writer {
            pipeline: &new.pipeline,
            store: &mut tried,
            target: None,
        };
        for update in &updates {
            writer.apply(update).await.map_err(|f| {
                Failure::invalid(format!(
                    "state written before does not fit the new pipeline: {f}"
                ))
            })?;
        }
        self.load(new).await?;
        self.saved = None;
        for update in &updates {
            self.apply(update).await.map_err(|f| {
                Failure::new(
                    tonic::Code::Internal,
                    format!("committed, but not all state written before was kept: {f}"),
                )
            })?;
        }
        Ok(())
    }

    async fn commit_saved(&mut self) -> Outcome<()> {
        let Some(saved) = &self.saved else {
            refuse!(precondition: "no config is saved; use VERIFY_AND_SAVE first");
        };
        let fresh = Configured {
            pipeline: saved.configured.pipeline.clone(),
            store: Store::new(&saved.configured.pipeline)?,
        };
        self.load(fresh).await?;
        let updates = self.saved.take().map(|s| s.updates).unwrap_or_default();
        for (i, update) in updates.iter().enumerate() {
            // Checked when it was written, so only the target can refuse it now.
            self.apply(update).await.map_err(|f| {
                Failure::new(
                    tonic::Code::Internal,
                    format!("committed, but update {i} since VERIFY_AND_SAVE failed: {f}"),
                )
            })?;
        }
        Ok(())
    }

    /// Applies a batch; an update that fails does not stop the others.
    pub(crate) async fn write(&mut self, updates: &[p4::Update]) -> Result<(), Status> {
        if self.current_pipeline().is_none() {
            return Err(no_pipeline().into());
        }
        let mut results = Vec::with_capacity(updates.len());
        for update in updates {
            results.push(self.apply(update).await);
        }
        batch_status(&results).map_or(Ok(()), Err)
    }

    async fn apply(&mut self, update: &p4::Update) -> Outcome<()> {
        if let Some(saved) = &mut self.saved {
            let mut writer = Writer {
                pipeline: &saved.configured.pipeline,
                store: &mut saved.configured.store,
                target: None,
            };
            writer.apply(update).await?;
            saved.updates.push(update.clone());
            return Ok(());
        }
        let Some(committed) = &mut self.committed else {
            return Err(no_pipeline());
        };
        let mut writer = Writer {
            pipeline: &committed.pipeline,
            store: &mut committed.store,
            target: Some(self.target.as_ref()),
        };
        writer.apply(update).await
    }

    /// Answers a Read: messages, then the final status.
    pub(crate) async fn read(
        &self,
        filters: &[p4::Entity],
    ) -> Vec<Result<p4::ReadResponse, Status>> {
        let reader = match (&self.saved, &self.committed) {
            (Some(s), _) => Reader {
                pipeline: &s.configured.pipeline,
                store: &s.configured.store,
                target: None,
            },
            (None, Some(c)) => Reader {
                pipeline: &c.pipeline,
                store: &c.store,
                target: Some(self.target.as_ref()),
            },
            (None, None) => return vec![Err(no_pipeline().into())],
        };
        let mut found = Vec::new();
        let mut results = Vec::with_capacity(filters.len());
        for filter in filters {
            results.push(reader.read(filter).await.map(|e| found.extend(e)));
        }
        let mut out = Vec::new();
        while !found.is_empty() {
            let rest = found.split_off(found.len().min(ENTITIES_PER_RESPONSE));
            out.push(Ok(p4::ReadResponse { entities: found }));
            found = rest;
        }
        let failed = batch_status(&results);
        // Like BMv2's server: one message even if there is nothing to report.
        if out.is_empty() && failed.is_none() {
            out.push(Ok(p4::ReadResponse::default()));
        }
        out.extend(failed.map(Err));
        out
    }
}

fn no_pipeline() -> Failure {
    Failure::precondition(
        "no forwarding pipeline is set; push one with SetForwardingPipelineConfig",
    )
}
