// SPDX-License-Identifier: Apache-2.0
//! For tests of programs: what their log, and how far they are, looks like in a pipe and
//! in a terminal.

use std::fs::File;
use std::io::{BufRead, BufReader, Error, Read, Result};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Nothing that a test waits for takes longer.
const PATIENCE: Duration = Duration::from_secs(60);
const ESCAPE: char = '\x1b';

/// Starts the program again and again, and looks at the first line of its log that has
/// `text`: there are colours in a terminal, and none in a pipe or under NO_COLOR.
///
/// # Errors
/// It is not so, in words; or there is no such line.
pub fn log_colours(program: &str, arguments: &[&str], log: [&str; 2], text: &str) -> Result<()> {
    for (terminal, no_color, coloured) in [
        (false, None, false),
        (true, None, true),
        (true, Some(""), true),
        (true, Some("1"), false),
    ] {
        let [variable, level] = log;
        let mut command = Command::new(program);
        command.args(arguments).env(variable, level);
        match no_color {
            Some(value) => command.env("NO_COLOR", value),
            None => command.env_remove("NO_COLOR"),
        };
        let line = logged(&mut command, terminal, text)?;
        if line.contains(ESCAPE) != coloured {
            return Err(Error::other(format!(
                "terminal {terminal}, NO_COLOR {no_color:?}: {line:?}"
            )));
        }
    }
    Ok(())
}

/// Runs a program that takes longer than 2 s: how far it is stands in a terminal, and not
/// in a pipe.
///
/// # Errors
/// It is not so, in words; or the program fails.
pub fn progress(program: &str, arguments: &[&str]) -> Result<()> {
    let mut command = Command::new(program);
    logged(command.args(arguments), true, " left")?;
    let piped = Command::new(program).args(arguments).output()?;
    let said = String::from_utf8_lossy(&piped.stderr);
    if !piped.status.success() || said.contains(['\r', ESCAPE, '%']) {
        return Err(Error::other(format!("{}: {said:?}", piped.status)));
    }
    Ok(())
}

/// Ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The first line with the text on standard error, which is a terminal or a pipe.
fn logged(command: &mut Command, terminal: bool, text: &str) -> Result<String> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let (running, from): (_, Box<dyn Read + Send>) = if terminal {
        let pty = nix::pty::openpty(None, None)?;
        // One for the program alone: where it ends, reading does.
        let child = command.stderr(Stdio::from(pty.slave)).spawn()?;
        command.stderr(Stdio::null());
        (Running(child), Box::new(File::from(pty.master)))
    } else {
        let mut child = command.stderr(Stdio::piped()).spawn()?;
        let pipe = child.stderr.take();
        let pipe = pipe.ok_or_else(|| Error::other("no standard error"))?;
        (Running(child), Box::new(pipe))
    };
    let (found, line) = channel();
    let sought = text.to_owned();
    std::thread::spawn(move || {
        let mut others = String::new();
        // A terminal whose program has ended fails to be read.
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if line.contains(&sought) {
                let _ = found.send(Ok(line));
                return;
            }
            others += &(line + "\n");
        }
        let _ = found.send(Err(others));
    });
    let line = line.recv_timeout(PATIENCE);
    drop(running);
    line.map_err(|_| Error::other(format!("no line with {text:?} within a minute")))?
        .map_err(|others| Error::other(format!("no line with {text:?}: {others}")))
}
