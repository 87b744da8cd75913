// SPDX-License-Identifier: Apache-2.0
//! Reads and writes entities, with the errors of single updates.

use super::Client;
use super::session::election_id;
use crate::p4rt::entries::Item;
use crate::rpc::{ItemError, item_errors};
use crate::{Error, UpdateFailure};
use tidemark_proto::p4::v1 as p4;
use tonic::Code;

impl Client {
    /// Writes items whether or not they exist already; returns their number.
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

    /// Deletes entries; entries that are already gone are not errors.
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

    /// Writes one batch; returns the refused updates with their index.
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
        let call = async move {
            match rpc.write(request).await {
                Ok(_) => Ok(Vec::new()),
                Err(status) => item_errors(&status).ok_or(status),
            }
        };
        let operation = items
            .first()
            .map_or_else(String::new, |i| format!("writing {}", i.what));
        match self.switch.in_time(&operation, call).await {
            Ok(refused) => Ok(refused
                .into_iter()
                .filter_map(|e| named(e, items))
                .collect()),
            Err(Error::Rpc {
                code: Code::PermissionDenied,
                message,
                ..
            }) => Err(self.not_primary(message)),
            Err(e) => Err(e),
        }
    }

    /// Reads entities; a missing entity gives an empty list.
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

/// Returns the refused update with its index and description.
fn named(e: ItemError, items: &[Item]) -> Option<(usize, UpdateFailure)> {
    let update = items.get(e.place)?.what.clone();
    let failure = UpdateFailure {
        update,
        code: e.code,
        message: e.message,
    };
    Some((e.place, failure))
}
