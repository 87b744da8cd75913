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
    let id = LinkId::new(link.node, link.port, link.queue);
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
    if let Some(path) = whole(link) {
        return known(core, path);
    }
    let LinkQuery { node, .. } = link;
    let links = core.known_links();
    let fits = |l: &&LinkId| fits(link, **l);
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

/// The link that a query names by node and port; without a queue that of queue 0.
fn whole(link: LinkQuery) -> Option<LinkPath> {
    Some(LinkPath {
        node: link.node?,
        port: link.port?,
        queue: link.queue.unwrap_or(0),
    })
}

fn fits(link: LinkQuery, id: LinkId) -> bool {
    let LinkQuery { node, port, queue } = link;
    node.is_none_or(|n| n == id.node_id)
        && port.is_none_or(|p| p == id.port)
        && queue.is_none_or(|q| q == id.queue)
}

/// Whether a link is among those that a query names by node, port, queue, all or none.
///
/// # Errors
/// 404 where it names one that there is not.
pub(super) fn those(core: &Core, link: LinkQuery) -> Result<impl Fn(&LinkId) -> bool, ApiError> {
    let mut link = link;
    if let Some(path) = whole(link) {
        known(core, path)?;
        link.queue = Some(path.queue);
    }
    Ok(move |id: &LinkId| fits(link, *id))
}

fn list(links: &[LinkId]) -> String {
    if links.is_empty() {
        return "no telemetry has come yet".into();
    }
    let first = links.iter().take(MAX_NAMED);
    let names: Vec<String> = first.map(ToString::to_string).collect();
    let names = names.join(", ");
    match links.len().saturating_sub(MAX_NAMED) {
        0 => format!("known (node:port:queue, without queue of queue 0): {names}"),
        others => format!(
            "known (node:port:queue, without queue of queue 0): {names} and {others} others"
        ),
    }
}
