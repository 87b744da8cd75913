// SPDX-License-Identifier: Apache-2.0
//! Recognises files that are mistaken for text traces.

/// Formats by their first bytes: name, and how to get a text trace.
const MAGICS: [(&[u8], &str); 11] = [
    (
        b"PERFILE2",
        "data of `perf record`: use the output of `perf script -i FILE`",
    ),
    (
        b"\x17\x08\x44tracing",
        "data of `trace-cmd record`: use the output of `trace-cmd report -i FILE`",
    ),
    (
        b"\xff\xfe",
        "text in UTF-16: convert it with `iconv -f UTF-16 -t UTF-8`",
    ),
    (
        b"\xfe\xff",
        "text in UTF-16: convert it with `iconv -f UTF-16 -t UTF-8`",
    ),
    (b"\x7fELF", "a program"),
    (b"PAR1", "Parquet"),
    (b"\x0a\x0d\x0d\x0a", "a pcapng file: use --pcap"),
    (b"\xd4\xc3\xb2\xa1", "a pcap file: use --pcap"),
    (b"\xa1\xb2\xc3\xd4", "a pcap file: use --pcap"),
    (b"\x4d\x3c\xb2\xa1", "a pcap file: use --pcap"),
    (b"PK\x03\x04", "a zip archive: unpack it"),
];

/// Output of other tools, by words of one of its lines.
const WORDS: [(&[u8], &str); 4] = [
    (
        b"tcp:tcp_probe(",
        "output of `perf trace`: use that of `perf record` and `perf script`",
    ),
    (
        b"tcp:tcp_probe: {",
        "output of babeltrace: use that of `perf script` or `trace-cmd report`",
    ),
    (
        b"Attaching ",
        "output of bpftrace: use that of `trace_pipe`, `trace-cmd report` or `perf script`",
    ),
    (
        b" cwnd:",
        "output of `ss`, which samples instead of tracing: use that of `trace_pipe`",
    ),
];

/// Returns the name of a file's format, and how to get a text trace from it; `None` for a text
/// trace and for unknown formats.
#[must_use]
pub fn foreign(start: &[u8]) -> Option<&'static str> {
    if let Some((_, name)) = MAGICS.iter().find(|(magic, _)| start.starts_with(magic)) {
        return Some(name);
    }
    if start.contains(&0) {
        return Some("binary data");
    }
    if matches!(start.trim_ascii_start().first(), Some(b'{' | b'[')) && !has_probe(start) {
        return Some("JSON: use the output of `trace_pipe`, `trace-cmd report` or `perf script`");
    }
    let mut lines = start.split(|&b| b == b'\n').filter(|l| !l.is_empty());
    if lines.next().is_some_and(is_of_the_old_module) {
        return Some(
            "lines of the module tcp_probe of Linux before 4.16 (/proc/net/tcpprobe): use the \
             tracepoint tcp:tcp_probe",
        );
    }
    let of_tool = WORDS
        .iter()
        .find(|(words, _)| memchr::memmem::find(start, words).is_some());
    of_tool.filter(|_| !has_probe(start)).map(|(_, name)| *name)
}

/// Whether [`super::parse_line`] can read at least one line.
fn has_probe(start: &[u8]) -> bool {
    let mut lines = start.split(|&b| b == b'\n');
    lines.any(|line| matches!(super::parse_line(line), Ok(Some(_))))
}

/// `seconds.nanoseconds src:port dst:port length 0xnext 0xunacked cwnd ssthresh snd_wnd srtt …`
fn is_of_the_old_module(line: &[u8]) -> bool {
    let words: Vec<&[u8]> = line
        .split(u8::is_ascii_whitespace)
        .filter(|w| !w.is_empty())
        .take(6)
        .collect();
    let hexadecimal = |at: usize| words.get(at).is_some_and(|w: &&[u8]| w.starts_with(b"0x"));
    let has = |at: usize, byte: u8| words.get(at).is_some_and(|w: &&[u8]| w.contains(&byte));
    has(0, b'.') && has(1, b':') && has(2, b':') && hexadecimal(4) && hexadecimal(5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_no_trace_are_named() {
        for (start, word) in [
            (&b"PERFILE2\x68\0"[..], "perf script"),
            (b"\x17\x08\x44tracing6\0", "trace-cmd report"),
            (b"\xff\xfei\0p\0", "UTF-16"),
            (b"\x7fELF\x02\x01", "a program"),
            (b"PAR1\x15", "Parquet"),
            (b"\xd4\xc3\xb2\xa1\x02\0", "--pcap"),
            (b"abc\0def", "binary"),
            (b"[\n {\"comm\": \"iperf3\"}]", "JSON"),
            (
                b"2.221032535 10.0.0.1:5001 10.0.0.2:22 32 0x1679885e 0x16798fb2 2 7 5888 81 5888\n",
                "/proc/net/tcpprobe",
            ),
            (
                b"     0.000 iperf3/3829 tcp:tcp_probe(family: 2, sport: 40000)\n",
                "perf trace",
            ),
            (b"Attaching 1 probe...\n", "bpftrace"),
            (b"ESTAB 0 0 10.0.0.1:1 10.0.0.2:2\n\t cubic cwnd:10\n", "`ss`"),
        ] {
            let name = foreign(start).unwrap_or_default();
            assert!(name.contains(word), "{word}: {name}");
        }
    }

    #[test]
    fn traces_and_what_is_not_known_are_not_named() {
        for start in [
            &b""[..],
            b"# tracer: nop\n#\n",
            b"cpus=8\n           <...>-3979  [007]   217.975284: sched_switch:   prev\n",
            b"anything else\n",
        ] {
            assert_eq!(foreign(start), None);
        }
    }
}
