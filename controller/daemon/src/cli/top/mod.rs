// SPDX-License-Identifier: Apache-2.0
//! `top`: shows every link in the terminal, live.

mod asking;
mod picture;
mod rows;

use super::remote::Where;
use anyhow::{Context as _, bail};
use asking::{Asking, Heard};
use clap::Args;
use picture::Screen;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::io::IsTerminal as _;
use std::time::Duration;

/// How long to wait for a key before new answers are drawn.
const DRAWN: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
pub(super) struct TopArgs {
    #[command(flatten)]
    controller: Where,
    /// Seconds between two requests to the controller.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
}

pub(super) fn top(args: &TopArgs) -> anyhow::Result<()> {
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        bail!("top needs a terminal; `tidemark-controller status` prints the same once");
    }
    // Fail before the terminal is taken over if there is no controller.
    let first = asking::ask(&args.controller.at(), None)?;
    let period = Duration::from_secs(args.seconds);
    let mut asking = Asking::start(args.controller.clone(), period)?;
    let mut screen = Screen::new(daemon_kit::cli::colours(&std::io::stdout()));
    screen.hear(first);
    let mut terminal = ratatui::try_init().context("the terminal cannot be taken over")?;
    let ended = watch(&mut terminal, &mut asking, screen);
    let restored = ratatui::try_restore().context("the terminal cannot be given back");
    ended.and(restored)
}

fn watch(
    terminal: &mut ratatui::DefaultTerminal,
    asking: &mut Asking,
    mut screen: Screen,
) -> anyhow::Result<()> {
    loop {
        for heard in asking.heard() {
            match heard {
                Heard::All(state) => screen.hear(*state),
                Heard::Problem(text) => screen.problem = Some(text),
            }
        }
        terminal.draw(|frame| screen.draw(frame))?;
        if event::poll(DRAWN)?
            && let Event::Key(key) = event::read()?
            && key.kind != KeyEventKind::Release
            && !pressed(key, &mut screen)
        {
            return Ok(());
        }
        asking.open(screen.open);
    }
}

/// Handles a key; returns false to quit.
fn pressed(key: KeyEvent, screen: &mut Screen) -> bool {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c') if control => return false,
        KeyCode::Char('q') => return false,
        KeyCode::Esc | KeyCode::Backspace | KeyCode::Left => screen.open = None,
        KeyCode::Up | KeyCode::Char('k') => screen.choose(-1),
        KeyCode::Down | KeyCode::Char('j') => screen.choose(1),
        KeyCode::PageUp => screen.choose(-20),
        KeyCode::PageDown => screen.choose(20),
        KeyCode::Enter | KeyCode::Right => screen.open = screen.chosen,
        _ => {}
    }
    true
}
