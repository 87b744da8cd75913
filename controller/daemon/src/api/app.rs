// SPDX-License-Identifier: Apache-2.0
//! State shared by the handlers.

use super::auth::Token;
use super::last_update::LastUpdate;
use crate::core::Core;
use daemon_kit::credentials::places::Places;
use std::sync::Arc;

/// Event streams at once.
const MAX_STREAMS: usize = 256;
/// Of them, of one address: so that its other requests are answered.
const MAX_STREAMS_OF_ADDRESS: usize = 32;

/// State shared by the handlers.
#[derive(Clone)]
pub struct App {
    /// State of the controller, which every request reads or changes.
    pub core: Arc<Core>,
    /// Token that a request that writes must show.
    pub token: Arc<Token>,
    /// The newest `update` event, as every stream sends it.
    pub last_update: Arc<LastUpdate>,
    /// Places of event streams.
    pub streams: Places,
}

impl App {
    /// State for the handlers, before the first request.
    pub fn new(core: Arc<Core>, token: Token) -> Self {
        Self {
            core,
            token: Arc::new(token),
            last_update: Arc::default(),
            streams: Places::new(MAX_STREAMS, MAX_STREAMS_OF_ADDRESS),
        }
    }
}
