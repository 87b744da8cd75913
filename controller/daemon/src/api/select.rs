// SPDX-License-Identifier: Apache-2.0
//! Finds the link that a request is about.

use super::error::ApiError;
use crate::core::Core;
use tidemark_api::{LinkPath, LinkQuery};
use tidemark_estimators::LinkId;

/// Maximum number of links named in an error.
const MAX_NAMED: usize = 20;

/// Returns the id of a link that has reported.
///
/// # Errors
/// 404 with the links that have reported.
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

/// Returns the link that a query names, or the only link if it names none.
///
/// # Errors
/// 404 if there is no such link, 400 if there are several.
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

/// Returns the link that a query names by node and port; queue 0 unless it names a queue.
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

/// Returns a filter for the links that a query names by node, port and queue, each optional.
///
/// # Errors
/// 404 if the query names a link that does not exist.
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
        return "no telemetry has arrived yet".into();
    }
    let first = links.iter().take(MAX_NAMED);
    let names: Vec<String> = first.map(ToString::to_string).collect();
    let names = names.join(", ");
    match links.len().saturating_sub(MAX_NAMED) {
        0 => format!("known (node:port:queue, without the queue if it is 0): {names}"),
        others => format!(
            "known (node:port:queue, without the queue if it is 0): {names} and {others} others"
        ),
    }
}
