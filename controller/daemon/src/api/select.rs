// SPDX-License-Identifier: Apache-2.0
//! Which link a request is about.

use super::error::ApiError;
use crate::core::Core;
use tidemark_api::{LinkPath, LinkQuery};
use tidemark_estimators::LinkId;

/// An error names so many links.
const MAX_NAMED: usize = 20;

/// A link that reports have come from, or whose switch is configured.
///
/// # Errors
/// 404 with the links there are.
pub(super) fn known(core: &Core, link: LinkPath) -> Result<LinkId, ApiError> {
    let id = LinkId::new(link.node, link.port);
    let links = core.known_links();
    if links.contains(&id) {
        return Ok(id);
    }
    Err(ApiError {
        field: Some("port".into()),
        ..ApiError::not_found(format!("no link {id} has reported; {}", list(&links)))
    })
}

/// The link named by a query; the only one where it names none.
///
/// # Errors
/// 404 where there is no such link, 400 where there are several.
pub(super) fn one(core: &Core, link: LinkQuery) -> Result<LinkId, ApiError> {
    let LinkQuery { node, port } = link;
    if let (Some(node), Some(port)) = (node, port) {
        return known(core, LinkPath { node, port });
    }
    let links = core.known_links();
    let fits =
        |l: &&LinkId| node.is_none_or(|n| n == l.node_id) && port.is_none_or(|p| p == l.port);
    let found: Vec<&LinkId> = links.iter().filter(fits).collect();
    match found.as_slice() {
        [id] => Ok(**id),
        [] => Err(ApiError::not_found(format!(
            "no such link has reported; {}",
            list(&links)
        ))),
        _ => Err(ApiError::bad(
            if node.is_none() { "node" } else { "port" },
            format!("which link? {}", list(&links)),
        )),
    }
}

/// Whether a link is among those that a query names by node, port, both or neither.
///
/// # Errors
/// 404 where it names one that there is not.
pub(super) fn those(core: &Core, link: LinkQuery) -> Result<impl Fn(&LinkId) -> bool, ApiError> {
    let LinkQuery { node, port } = link;
    if let (Some(node), Some(port)) = (node, port) {
        known(core, LinkPath { node, port })?;
    }
    Ok(
        move |id: &LinkId| {
            node.is_none_or(|n| n == id.node_id) && port.is_none_or(|p| p == id.port)
        },
    )
}

fn list(links: &[LinkId]) -> String {
    if links.is_empty() {
        return "no telemetry has come yet".into();
    }
    let first = links.iter().take(MAX_NAMED);
    let names: Vec<String> = first.map(ToString::to_string).collect();
    let names = names.join(", ");
    match links.len().saturating_sub(MAX_NAMED) {
        0 => format!("known (node:port): {names}"),
        others => format!("known (node:port): {names} and {others} others"),
    }
}
