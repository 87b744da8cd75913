// SPDX-License-Identifier: Apache-2.0
//! Reads `.stf` text.

use anyhow::{Context, Result, anyhow, bail};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub action: String,
    /// Name, if given, and value.
    pub args: Vec<(Option<String>, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Statement {
    Add {
        table: String,
        priority: i64,
        matches: Vec<(String, String)>,
        action: Call,
    },
    SetDefault {
        table: String,
        action: Call,
    },
    Packet {
        port: u32,
        data: Vec<u8>,
    },
    Expect {
        port: u32,
        /// Hex digits, `*`, and perhaps a final `$`; `None`: anything.
        data: Option<String>,
    },
    GroupCreate {
        group: u32,
    },
    NodeCreate {
        rid: u16,
        ports: Vec<u32>,
    },
    NodeAssociate {
        group: u32,
        node: usize,
    },
    MirrorPort {
        session: u32,
        port: u32,
    },
    MirrorGroup {
        session: u32,
        group: u32,
    },
    RegisterWrite {
        register: String,
        index: usize,
        value: u64,
    },
    Nothing,
}

/// Statements with their line numbers.
///
/// # Errors
/// A line that is not understood.
pub(crate) fn parse(text: &str) -> Result<Vec<(usize, Statement)>> {
    let mut out = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        out.push((
            i + 1,
            statement(line).with_context(|| format!("line {}: {line}", i + 1))?,
        ));
    }
    Ok(out)
}

fn statement(line: &str) -> Result<Statement> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let arg = |i: usize| -> Result<&str> {
        rest.split_whitespace()
            .nth(i)
            .ok_or_else(|| anyhow!("too few arguments"))
    };
    Ok(match word.to_ascii_lowercase().as_str() {
        "add" => add(rest)?,
        "setdefault" => {
            let (table, action) = rest
                .split_once(char::is_whitespace)
                .ok_or_else(|| anyhow!("too few arguments"))?;
            Statement::SetDefault {
                table: table.to_owned(),
                action: call(action)?,
            }
        }
        "packet" => {
            let (port, data) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            Statement::Packet {
                port: port.parse()?,
                data: hex(data)?,
            }
        }
        "expect" => {
            let (port, data) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            let data: String = data.split_whitespace().collect::<String>().to_lowercase();
            Statement::Expect {
                port: port.parse()?,
                data: (!data.is_empty()).then_some(data),
            }
        }
        "mc_mgrp_create" => Statement::GroupCreate {
            group: arg(0)?.parse()?,
        },
        "mc_node_create" => Statement::NodeCreate {
            rid: arg(0)?.parse()?,
            ports: rest
                .split_whitespace()
                .skip(1)
                .map(|p| p.parse().map_err(Into::into))
                .collect::<Result<_>>()?,
        },
        "mc_node_associate" => Statement::NodeAssociate {
            group: arg(0)?.parse()?,
            node: arg(1)?.parse()?,
        },
        "mirroring_add" => Statement::MirrorPort {
            session: arg(0)?.parse()?,
            port: arg(1)?.parse()?,
        },
        "mirroring_add_mc" => Statement::MirrorGroup {
            session: arg(0)?.parse()?,
            group: arg(1)?.parse()?,
        },
        "register_write" => Statement::RegisterWrite {
            register: arg(0)?.to_owned(),
            index: arg(1)?.parse()?,
            value: arg(2)?.parse()?,
        },
        // Registers are zero at the start; reads and meters print only.
        "register_read"
        | "register_reset"
        | "mirroring_get"
        | "wait"
        | "meter_get_rates"
        | "meter_set_rates"
        | "meter_array_set_rates" => Statement::Nothing,
        other => bail!("statement \"{other}\" is not known"),
    })
}

fn hex(s: &str) -> Result<Vec<u8>> {
    let digits: String = s.split_whitespace().collect();
    if !digits.len().is_multiple_of(2) {
        bail!("odd number of hex digits");
    }
    digits
        .as_bytes()
        .chunks(2)
        .map(|c| {
            let pair = std::str::from_utf8(c)?;
            Ok(u8::from_str_radix(pair, 16)?)
        })
        .collect()
}

/// `table [priority] key:value… action(args) [= id]`
fn add(rest: &str) -> Result<Statement> {
    let rest = rest.split(" = ").next().unwrap_or(rest);
    let open = rest.find('(').ok_or_else(|| anyhow!("no action"))?;
    let start = rest
        .get(..open)
        .and_then(|h| h.trim_end().rfind(char::is_whitespace))
        .map_or(0, |i| i + 1);
    let (head, action) = rest.split_at(start);
    let mut words = head.split_whitespace();
    let table = words.next().ok_or_else(|| anyhow!("no table"))?.to_owned();
    let mut priority = 0;
    let mut matches = Vec::new();
    for w in words {
        match w.split_once(':') {
            Some((k, v)) => matches.push((k.to_owned(), v.to_owned())),
            None => priority = w.parse().with_context(|| format!("priority \"{w}\""))?,
        }
    }
    Ok(Statement::Add {
        table,
        priority,
        matches,
        action: call(action)?,
    })
}

fn call(s: &str) -> Result<Call> {
    let (action, rest) = s
        .trim()
        .split_once('(')
        .ok_or_else(|| anyhow!("no arguments"))?;
    let inner = rest.split_once(')').ok_or_else(|| anyhow!("missing )"))?.0;
    let args = inner
        .split(',')
        .map(str::trim)
        .filter(|a| !a.is_empty())
        .map(|a| match a.split_once(':') {
            Some((n, v)) => (Some(n.trim().to_owned()), v.trim().to_owned()),
            None => (None, a.to_owned()),
        })
        .collect();
    Ok(Call {
        action: action.trim().to_owned(),
        args,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_statements() {
        let text = "# comment\nadd c.t 3 h.a:0x1* h.b:7 c.go(port:2, 5) = $x\n\nexpect 2 aB** $\npacket 1 00 ff0A\n";
        let got = parse(text).unwrap();
        assert_eq!(got.len(), 3);
        assert_eq!(got[0].0, 2);
        assert_eq!(
            got[0].1,
            Statement::Add {
                table: "c.t".into(),
                priority: 3,
                matches: vec![("h.a".into(), "0x1*".into()), ("h.b".into(), "7".into())],
                action: Call {
                    action: "c.go".into(),
                    args: vec![(Some("port".into()), "2".into()), (None, "5".into())]
                }
            }
        );
        assert_eq!(
            got[1].1,
            Statement::Expect {
                port: 2,
                data: Some("ab**$".into())
            }
        );
        assert_eq!(
            got[2].1,
            Statement::Packet {
                port: 1,
                data: vec![0, 0xff, 0x0a]
            }
        );
        assert!(parse("jump 1").is_err());
        assert!(parse("packet 1 abc").is_err());
    }
}
