// SPDX-License-Identifier: Apache-2.0
//! The controller as a whole: status, mode, limit changes.

use super::error::ApiError;
use super::route::Call;
use super::{App, convert};
use tidemark_api::operations::{GetChanges, GetStatus, SetMode};
use tidemark_api::{Changes, ModeSet, Status};

pub(super) async fn status(app: App, _: Call<GetStatus>) -> Result<Status, ApiError> {
    Ok(convert::status(&app.core))
}

pub(super) async fn set_mode(app: App, call: Call<SetMode>) -> Result<ModeSet, ApiError> {
    let mode = call.body.mode;
    app.core.set_mode(mode);
    Ok(ModeSet { mode })
}

pub(super) async fn changes(app: App, _: Call<GetChanges>) -> Result<Changes, ApiError> {
    Ok(Changes {
        changes: app.core.audit.recent(),
    })
}
