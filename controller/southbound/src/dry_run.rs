// SPDX-License-Identifier: Apache-2.0
//! A driver that cannot write; `control.dry_run` uses it in place of the real one.

use crate::{
    Description, Error, Expected, Health, Inspection, Limit, MayWriteLimit, Provision, Provisioned,
    Southbound, SwitchReader,
};
use async_trait::async_trait;
use std::sync::Arc;

/// A switch that is only read. It holds a [`SwitchReader`], which has no way to write; every write
/// fails with [`Error::DryRun`], which says what would have been written.
pub struct DryRun {
    switch: Arc<dyn SwitchReader>,
}

impl DryRun {
    /// Wraps the reader of a switch.
    pub fn new(switch: Arc<dyn SwitchReader>) -> Self {
        Self { switch }
    }

    fn not_written<T>(&self, what: String) -> Result<T, Error> {
        Err(Error::DryRun {
            address: self.switch.describe().address,
            what,
        })
    }
}

#[async_trait]
impl SwitchReader for DryRun {
    fn describe(&self) -> Description {
        self.switch.describe()
    }

    async fn read_limit(&self, port: u32) -> Result<Limit, Error> {
        self.switch.read_limit(port).await
    }

    async fn read_queue_limit(&self, port: u32, queue: u32) -> Result<Limit, Error> {
        self.switch.read_queue_limit(port, queue).await
    }

    async fn observe(&self) -> Health {
        self.switch.observe().await
    }

    async fn inspect(&self, expected: &Expected<'_>) -> Inspection {
        self.switch.inspect(expected).await
    }
}

#[async_trait]
impl Southbound for DryRun {
    async fn provision(
        &self,
        plan: &Provision,
        _: MayWriteLimit<'_>,
    ) -> Result<Provisioned, Error> {
        self.not_written(plan.in_words())
    }

    async fn set_limit(&self, port: u32, limit: Limit) -> Result<Limit, Error> {
        self.not_written(format!("the limit of port {port}: {limit}"))
    }

    async fn set_queue_limit(&self, port: u32, queue: u32, limit: Limit) -> Result<Limit, Error> {
        if queue == 0 {
            return self.set_limit(port, limit).await;
        }
        // A limit that cannot be read cannot be set.
        self.switch.read_queue_limit(port, queue).await?;
        self.not_written(format!(
            "the limit of queue {queue} of port {port}: {limit}"
        ))
    }

    async fn report_port(&self, port: u32, on: bool) -> Result<(), Error> {
        let switched = if on { "on" } else { "off" };
        self.not_written(format!("reports of port {port} {switched}"))
    }

    /// Never primary: requesting it could take the switch from a controller that does write.
    async fn health(&self) -> Health {
        let mut health = self.switch.observe().await;
        health.primary = false;
        health
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Reader;

    #[async_trait]
    impl SwitchReader for Reader {
        fn describe(&self) -> Description {
            Description {
                driver: "reader",
                address: "here".into(),
                device_id: 1,
                limit_unit_bytes: 1,
            }
        }

        async fn read_limit(&self, _: u32) -> Result<Limit, Error> {
            Ok(Limit::DropTail { limit_bytes: 7 })
        }

        async fn observe(&self) -> Health {
            Health {
                connected: true,
                primary: true,
                ..Health::default()
            }
        }
    }

    #[tokio::test]
    async fn what_would_be_written_is_said_and_reading_goes_on() {
        let dry = DryRun::new(Arc::new(Reader));
        let limit = Limit::DropTail { limit_bytes: 9 };
        assert_eq!(
            dry.read_limit(5).await.unwrap(),
            Limit::DropTail { limit_bytes: 7 }
        );
        assert!(!dry.health().await.primary);
        let plan = Provision::default();
        let said = [
            dry.provision(&plan, &|_, _| true).await.unwrap_err(),
            dry.set_limit(5, limit).await.unwrap_err(),
            dry.report_port(5, false).await.unwrap_err(),
        ];
        for (e, what) in said
            .iter()
            .zip(["plan", "port 5: drop_tail 9 bytes", "port 5 off"])
        {
            assert!(matches!(e, Error::DryRun { .. }), "{e}");
            let text = e.to_string();
            assert!(
                text.contains(what) && text.contains("nothing was written"),
                "{text}"
            );
        }
    }
}
