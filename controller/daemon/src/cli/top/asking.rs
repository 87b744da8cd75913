// SPDX-License-Identifier: Apache-2.0
//! Asks the controller in a separate thread, so that a late answer does not block the keys.

use super::super::http;
use super::super::remote::Where;
use anyhow::Context as _;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use tidemark_api::operations::{GetFlows, GetStatus};
use tidemark_api::{FlowsQuery, Link, LinkFlow, Nothing, Status};
use tidemark_estimators::LinkId;

/// Maximum number of flows to ask for, of the open link.
const MOST_FLOWS: usize = 500;

/// A link: node, port and queue.
pub(super) type LinkKey = LinkId;

pub(super) struct State {
    pub status: Status,
    pub links: Vec<Link>,
    /// The open link and its flows, if a link is open.
    pub flows: Option<(LinkKey, Vec<LinkFlow>)>,
}

pub(super) enum Heard {
    All(Box<State>),
    /// Why there was no answer.
    Problem(String),
}

pub(super) struct Asking {
    answers: Receiver<Heard>,
    opened: Sender<Option<LinkKey>>,
    open: Option<LinkKey>,
}

impl Asking {
    pub(super) fn start(controller: Where, period: Duration) -> anyhow::Result<Self> {
        let (told, answers) = channel();
        let (opened, choices) = channel();
        std::thread::Builder::new()
            .name("asking".into())
            .spawn(move || {
                let mut open = None;
                loop {
                    let heard = match ask(&controller.at(), open) {
                        Ok(state) => Heard::All(Box::new(state)),
                        Err(e) => Heard::Problem(format!("{e:#}")),
                    };
                    if told.send(heard).is_err() {
                        return;
                    }
                    // Until the next request is due, or another link is opened.
                    match choices.recv_timeout(period) {
                        Ok(link) => open = link,
                        Err(RecvTimeoutError::Timeout) => {}
                        Err(RecvTimeoutError::Disconnected) => return,
                    }
                }
            })
            .context("cannot start a thread")?;
        Ok(Self {
            answers,
            opened,
            open: None,
        })
    }

    /// Returns the answers received since the last call.
    pub(super) fn heard(&self) -> impl Iterator<Item = Heard> {
        self.answers.try_iter()
    }

    /// Chooses the link whose flows are asked for.
    pub(super) fn open(&mut self, link: Option<LinkKey>) {
        if link != self.open {
            self.open = link;
            // Fails only if the thread has ended.
            let _ = self.opened.send(link);
        }
    }
}

/// Asks once, in the current thread.
///
/// # Errors
/// There is no controller, or it does not answer as one.
pub(super) fn ask(at: &http::At<'_>, open: Option<LinkKey>) -> anyhow::Result<State> {
    let status = http::call::<GetStatus>(at, &Nothing {}, None, &Nothing {})?;
    let links = http::links(at)?;
    let flows = match open {
        None => None,
        Some(link) => {
            let query = FlowsQuery {
                node: Some(link.node_id),
                port: Some(link.port),
                queue: Some(link.queue),
                max_flows: Some(MOST_FLOWS),
                offset: None,
            };
            let flows = http::ask::<GetFlows>(at, &Nothing {}, &query, None, &Nothing {})?;
            Some((link, flows.flows))
        }
    };
    Ok(State {
        status,
        links,
        flows,
    })
}
