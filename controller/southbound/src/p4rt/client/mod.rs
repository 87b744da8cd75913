// SPDX-License-Identifier: Apache-2.0
//! Connection to a P4Runtime server: arbitration, calls, errors in words.

mod session;
mod tables;

use crate::Error;
use crate::driver_kind::SwitchAddress;
use daemon_kit::credentials::CallerChannel;
use session::{Role, Session, election_id};
use std::time::Duration;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use tokio::sync::Mutex;
use tonic::Code;
use tonic::transport::{Channel, Endpoint};

const MAX_MESSAGE_BYTES: usize = 64 << 20;

/// Client of a P4Runtime server. Cheap to keep; connects on use and again after failures.
pub(super) struct Client {
    switch: SwitchAddress,
    rpc: P4RuntimeClient<CallerChannel>,
    session: Mutex<Option<Session>>,
}

impl Client {
    /// Creates the client and checks the address; `connect` connects. Needs a tokio runtime.
    pub(super) fn over(
        mut switch: SwitchAddress,
        connect: impl FnOnce(Endpoint) -> Channel,
    ) -> Result<Self, Error> {
        let endpoint = switch
            .endpoint("127.0.0.1:9559")?
            .http2_keep_alive_interval(Duration::from_secs(10))
            .keep_alive_while_idle(true);
        let rpc = P4RuntimeClient::new(switch.access.channel(connect(endpoint)))
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES);
        Ok(Self {
            switch,
            rpc,
            session: Mutex::new(None),
        })
    }

    pub(super) fn switch(&self) -> &SwitchAddress {
        &self.switch
    }

    fn not_primary(&self, reason: String) -> Error {
        self.switch.not_primary(self.switch.election_id, reason)
    }

    /// Ensures that our stream is open and that we are primary.
    ///
    /// # Errors
    /// [`Error::Connect`], [`Error::NotPrimary`], or the server's error.
    pub(super) async fn become_primary(&self) -> Result<(), Error> {
        let mut session = self.session.lock().await;
        if session.as_ref().is_none_or(Session::is_closed) {
            *session = Some(Session::open(&self.switch, self.rpc.clone()).await?);
        }
        let Some(s) = session.as_mut() else {
            return Ok(());
        };
        match s.decided(self.switch.timeout).await {
            Role::Primary | Role::Waiting => Ok(()),
            Role::Backup(reason) => Err(self.not_primary(reason)),
            Role::Closed(end) => {
                *session = None;
                Err(match end.code {
                    // Another stream has the same election id.
                    Code::InvalidArgument => self.not_primary(end.message),
                    code => self.switch.error("arbitration", code, &end.message),
                })
            }
        }
    }

    /// Reads the API version of the server.
    pub(super) async fn capabilities(&self) -> Result<String, Error> {
        let request = p4::CapabilitiesRequest {
            device_id: self.switch.device_id,
        };
        let mut rpc = self.rpc.clone();
        let answer = self
            .switch
            .in_time("capabilities", rpc.capabilities(request));
        Ok(answer.await?.into_inner().p4runtime_api_version)
    }

    /// Reads P4Info and cookie of the loaded program; `None` if there is none.
    pub(super) async fn pipeline(&self) -> Result<Option<p4::ForwardingPipelineConfig>, Error> {
        use p4::get_forwarding_pipeline_config_request::ResponseType;
        let request = p4::GetForwardingPipelineConfigRequest {
            device_id: self.switch.device_id,
            response_type: ResponseType::P4infoAndCookie as i32,
        };
        let mut rpc = self.rpc.clone();
        let call = rpc.get_forwarding_pipeline_config(request);
        match self.switch.in_time("reading the program", call).await {
            Ok(r) => {
                let config = r.into_inner().config;
                Ok(config.filter(|c| c.p4info.as_ref().is_some_and(|i| !i.tables.is_empty())))
            }
            // PI's answer when nothing has been pushed yet.
            Err(Error::Rpc {
                code: Code::FailedPrecondition,
                ..
            }) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Pushes a program; clears all state of the switch.
    pub(super) async fn push(&self, config: p4::ForwardingPipelineConfig) -> Result<(), Error> {
        use p4::set_forwarding_pipeline_config_request::Action;
        self.become_primary().await?;
        let request = p4::SetForwardingPipelineConfigRequest {
            device_id: self.switch.device_id,
            election_id: election_id(&self.switch),
            action: Action::VerifyAndCommit as i32,
            config: Some(config),
            ..Default::default()
        };
        let mut rpc = self.rpc.clone();
        let call = rpc.set_forwarding_pipeline_config(request);
        self.switch.in_time("pushing the program", call).await?;
        Ok(())
    }
}
