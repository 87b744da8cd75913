// SPDX-License-Identifier: Apache-2.0
//! Entities read and written, with the errors of single updates.

use super::Client;
use super::session::election_id;
use crate::p4rt::entries::Item;
use crate::{Error, UpdateFailure};
use prost::Message as _;
use tidemark_proto::google::rpc;
use tidemark_proto::p4::v1 as p4;
use tonic::{Code, Status};

impl Client {
    /// Writes items whether or not they exist yet; returns how many.
    pub(crate) async fn put(&self, items: &[Item]) -> Result<usize, Error> {
        use p4::update::Type;
        let kinds: Vec<Type> = items
            .iter()
            .map(|i| {
                if i.modify_only {
                    Type::Modify
                } else {
                    Type::Insert
                }
            })
            .collect();
        let refused = self.write(items, &kinds).await?;
        let (exist, bad): (Vec<_>, Vec<_>) = refused
            .into_iter()
            .partition(|(i, f)| kinds[*i] == Type::Insert && f.code == Code::AlreadyExists as i32);
        let mut failures: Vec<UpdateFailure> = bad.into_iter().map(|(_, f)| f).collect();
        if !exist.is_empty() {
            let again: Vec<Item> = exist.iter().map(|(i, _)| items[*i].clone()).collect();
            let kinds = vec![Type::Modify; again.len()];
            let refused = self.write(&again, &kinds).await?;
            failures.extend(refused.into_iter().map(|(_, f)| f));
        }
        self.unless_failed(failures)?;
        Ok(items.len())
    }

    /// Deletes entries; those already gone are no error.
    pub(crate) async fn delete(&self, items: &[Item]) -> Result<(), Error> {
        let kinds = vec![p4::update::Type::Delete; items.len()];
        let refused = self.write(items, &kinds).await?;
        let failures = refused
            .into_iter()
            .map(|(_, f)| f)
            .filter(|f| f.code != Code::NotFound as i32)
            .collect();
        self.unless_failed(failures)
    }

    fn unless_failed(&self, failures: Vec<UpdateFailure>) -> Result<(), Error> {
        if failures.is_empty() {
            return Ok(());
        }
        Err(Error::Write {
            address: self.switch.address.clone(),
            failures,
        })
    }

    /// One batch; returns the refused updates by index.
    async fn write(
        &self,
        items: &[Item],
        kinds: &[p4::update::Type],
    ) -> Result<Vec<(usize, UpdateFailure)>, Error> {
        if items.is_empty() {
            return Ok(Vec::new());
        }
        self.become_primary().await?;
        let updates = items.iter().zip(kinds).map(|(item, kind)| p4::Update {
            r#type: *kind as i32,
            entity: Some(item.entity.clone()),
        });
        let request = p4::WriteRequest {
            device_id: self.switch.device_id,
            election_id: election_id(&self.switch),
            updates: updates.collect(),
            ..Default::default()
        };
        let mut rpc = self.rpc.clone();
        match tokio::time::timeout(self.switch.timeout, rpc.write(request)).await {
            Ok(Ok(_)) => Ok(Vec::new()),
            Ok(Err(status)) => match update_errors(&status, items) {
                Some(refused) => Ok(refused),
                None if status.code() == Code::PermissionDenied => {
                    Err(self.not_primary(status.message().into()))
                }
                None => Err(self.switch.error(
                    &format!("writing {}", items[0].what),
                    status.code(),
                    status.message(),
                )),
            },
            Err(_) => Err(self.switch.error(
                &format!("writing {}", items[0].what),
                Code::DeadlineExceeded,
                "no answer in time",
            )),
        }
    }

    /// Reads entities; a missing one gives an empty list.
    pub(crate) async fn read(
        &self,
        what: &str,
        entity: p4::Entity,
    ) -> Result<Vec<p4::Entity>, Error> {
        let request = p4::ReadRequest {
            device_id: self.switch.device_id,
            entities: vec![entity],
            ..Default::default()
        };
        let operation = format!("reading {what}");
        let mut rpc = self.rpc.clone();
        let call = async move {
            let mut stream = rpc.read(request).await?.into_inner();
            let mut all = Vec::new();
            while let Some(part) = stream.message().await? {
                all.extend(part.entities);
            }
            Ok(all)
        };
        match self.switch.in_time(&operation, call).await {
            Err(Error::Rpc {
                code: Code::NotFound,
                ..
            }) => Ok(Vec::new()),
            other => other,
        }
    }
}

/// The per-update errors inside a failed write; `None` when the call failed as
/// a whole.
fn update_errors(status: &Status, items: &[Item]) -> Option<Vec<(usize, UpdateFailure)>> {
    if status.details().is_empty() {
        return None;
    }
    let inner = rpc::Status::decode(status.details()).ok()?;
    if inner.details.is_empty() {
        return None;
    }
    let errors = inner.details.iter().enumerate().filter_map(|(i, any)| {
        let error = p4::Error::decode(any.value.as_slice()).ok()?;
        let update = items.get(i)?.what.clone();
        (error.canonical_code != 0).then_some((
            i,
            UpdateFailure {
                update,
                code: error.canonical_code,
                message: error.message,
            },
        ))
    });
    Some(errors.collect())
}
