// SPDX-License-Identifier: Apache-2.0
//! The subscription to a BFRT server, bound to the running program.

use crate::Error;
use crate::bfrt::config::Server;
use crate::bfrt::info::Info;
use daemon_kit::credentials::CallerChannel;
use std::sync::Arc;
use tidemark_proto::bfrt_proto as bf;
use tidemark_proto::bfrt_proto::bf_runtime_client::BfRuntimeClient;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;

type Rpc = BfRuntimeClient<CallerChannel>;

pub(super) struct Session {
    // Dropping the sender ends the subscription and the binding.
    _requests: mpsc::Sender<bf::StreamMessageRequest>,
    reader: JoinHandle<()>,
    info: Arc<Info>,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Session {
    /// Returns whether the server still listens to us.
    pub(super) fn is_open(&self) -> bool {
        !self.reader.is_finished()
    }

    pub(super) fn info(&self) -> Arc<Info> {
        Arc::clone(&self.info)
    }

    /// Subscribes, binds to the program and reads its tables.
    pub(super) async fn open(server: &Server, mut rpc: Rpc) -> Result<Self, Error> {
        let Server {
            switch,
            config,
            device_id,
        } = server;
        let (requests, rx) = mpsc::channel(4);
        let hello = bf::StreamMessageRequest {
            client_id: config.client_id,
            update: Some(bf::stream_message_request::Update::Subscribe(
                bf::Subscribe {
                    is_master: true,
                    device_id: *device_id,
                    notifications: Some(bf::subscribe::Notifications::default()),
                    status: None,
                },
            )),
        };
        // The channel is empty, so this cannot fail.
        let _ = requests.try_send(hello);
        let call = rpc.stream_channel(ReceiverStream::new(rx));
        let mut answers = switch.in_time("subscribing", call).await?.into_inner();
        let first = switch.in_time("subscribing", answers.message()).await?;
        let accepted = first.and_then(|m| m.update);
        match accepted {
            Some(bf::stream_message_response::Update::Subscribe(s))
                if s.status.as_ref().is_none_or(|s| s.code == 0) => {}
            other => {
                let reason = format!(
                    "the subscription of client_id {} was refused: {other:?}",
                    config.client_id
                );
                return Err(switch.not_primary(config.client_id.into(), reason));
            }
        }
        let reader =
            tokio::spawn(async move { while let Ok(Some(_)) = answers.message().await {} });
        let bind = bf::SetForwardingPipelineConfigRequest {
            device_id: *device_id,
            client_id: config.client_id,
            action: bf::set_forwarding_pipeline_config_request::Action::Bind as i32,
            config: vec![bf::ForwardingPipelineConfig {
                p4_name: config.p4_name.clone(),
                ..Default::default()
            }],
            ..Default::default()
        };
        let what = format!("binding to program \"{}\"", config.p4_name);
        switch
            .in_time(&what, rpc.set_forwarding_pipeline_config(bind))
            .await?;
        let get = bf::GetForwardingPipelineConfigRequest {
            device_id: *device_id,
            client_id: config.client_id,
        };
        let call = rpc.get_forwarding_pipeline_config(get);
        let read = switch
            .in_time("reading the program", call)
            .await?
            .into_inner();
        let program = read.config.iter().find(|c| c.p4_name == config.p4_name);
        let Some(program) = program else {
            let known = read.config.iter().map(|c| c.p4_name.as_str());
            return Err(Error::name("program", &config.p4_name, known));
        };
        let fixed = read.non_p4_config.unwrap_or_default().bfruntime_info;
        let info = Info::parse(&[&program.bfruntime_info, &fixed])?;
        Ok(Self {
            _requests: requests,
            reader,
            info: Arc::new(info),
        })
    }
}
