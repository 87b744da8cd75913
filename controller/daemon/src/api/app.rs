// SPDX-License-Identifier: Apache-2.0
//! State shared by the handlers.

use super::auth::Token;
use super::last_update::LastUpdate;
use crate::core::Core;
use daemon_kit::credentials::places::Places;
use std::sync::Arc;

/// Maximum number of open event streams.
const MAX_STREAMS: usize = 256;
/// Maximum number of event streams per client address, to leave room for its other requests.
const MAX_STREAMS_OF_ADDRESS: usize = 32;

/// State shared by the handlers.
#[derive(Clone)]
pub struct App {
    /// State of the controller, which every request reads or changes.
    pub core: Arc<Core>,
    /// Token required by requests that write.
    pub token: Arc<Token>,
    /// The newest `update` event, as every stream sends it.
    pub last_update: Arc<LastUpdate>,
    /// Limits the number of open event streams.
    pub streams: Places,
}

impl App {
    /// Creates the state for the handlers.
    pub fn new(core: Arc<Core>, token: Token) -> Self {
        Self {
            core,
            token: Arc::new(token),
            last_update: Arc::default(),
            streams: Places::new(MAX_STREAMS, MAX_STREAMS_OF_ADDRESS),
        }
    }
}
