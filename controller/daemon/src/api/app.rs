// SPDX-License-Identifier: Apache-2.0
//! What handlers share.

use super::auth::Token;
use super::last_update::LastUpdate;
use crate::core::Core;
use std::sync::Arc;

/// What handlers share.
#[derive(Clone)]
pub struct App {
    pub core: Arc<Core>,
    pub token: Arc<Token>,
    pub last_update: Arc<LastUpdate>,
}

impl App {
    pub fn new(core: Arc<Core>, token: Token) -> Self {
        Self {
            core,
            token: Arc::new(token),
            last_update: Arc::default(),
        }
    }
}
