// SPDX-License-Identifier: Apache-2.0
//! Checks the look of programs' logs and progress in a pipe and in a terminal, for
//! tests.

use std::fs::File;
use std::io::{BufRead, BufReader, Error, Read, Result};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Longest time that a test waits for anything.
const PATIENCE: Duration = Duration::from_secs(60);
const ESCAPE: char = '\x1b';

/// Starts the program several times and checks the first line of its log with `text`: it
/// must have colours in a terminal, and none in a pipe or with NO_COLOR.
///
/// # Errors
/// The check failed, or there is no such line.
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

/// Runs a program that takes longer than 2 s and checks that it shows its progress in a
/// terminal but not in a pipe.
///
/// # Errors
/// The check failed, or the program failed.
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

/// A child process that is killed when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the first line with the text on standard error, which is a terminal or a pipe.
fn logged(command: &mut Command, terminal: bool, text: &str) -> Result<String> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let (running, from): (_, Box<dyn Read + Send>) = if terminal {
        let pty = nix::pty::openpty(None, None)?;
        // Only the program holds the terminal, so that reading ends when the program ends.
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
        // Reading a terminal fails after its program has ended.
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
