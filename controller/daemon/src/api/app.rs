// SPDX-License-Identifier: Apache-2.0
//! What handlers share.

use super::auth::Token;
use super::last_update::LastUpdate;
use crate::core::Core;
use std::sync::Arc;
use tidemark_credentials::places::Places;

/// Event streams at once.
const MAX_STREAMS: usize = 256;
/// Of them, of one address: so that its other requests are answered.
const MAX_STREAMS_OF_ADDRESS: usize = 32;

/// What handlers share.
#[derive(Clone)]
pub struct App {
    pub core: Arc<Core>,
    pub token: Arc<Token>,
    pub last_update: Arc<LastUpdate>,
    /// Places of event streams.
    pub streams: Places,
}

impl App {
    pub fn new(core: Arc<Core>, token: Token) -> Self {
        Self {
            core,
            token: Arc::new(token),
            last_update: Arc::default(),
            streams: Places::new(MAX_STREAMS, MAX_STREAMS_OF_ADDRESS),
        }
    }
}
