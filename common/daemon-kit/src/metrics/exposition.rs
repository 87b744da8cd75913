// SPDX-License-Identifier: Apache-2.0
//! `/metrics`: OpenMetrics 1.0 for clients that ask for it, otherwise the older text format
//! 0.0.4, which every tool reads.

use std::fmt;

use axum::http::header::{ACCEPT, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::registry::Registry;

use crate::metrics::MetricDoc;
use crate::metrics::encode::infos;

/// The build info, which every program has.
pub const BUILD_INFO: MetricDoc = MetricDoc::info(
    "build_info",
    "Version of the program and commit that it was built from",
)
.labels(&["version", "revision"]);

const OPENMETRICS: &str = "application/openmetrics-text";

/// Text format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Prometheus's text format 0.0.4.
    Text,
}

impl Format {
    /// Returns the format that a request prefers; OpenMetrics if both are equal and it is named.
    pub fn asked_for(headers: &HeaderMap) -> Self {
        let (mut openmetrics, mut text) = (0.0, 0.0);
        for range in headers.get_all(ACCEPT).iter().flat_map(ranges) {
            let best = match range.kind {
                OPENMETRICS => &mut openmetrics,
                "text/plain" | "text/*" | "*/*" => &mut text,
                _ => continue,
            };
            *best = range.quality.max(*best);
        }
        if openmetrics > 0.0 && openmetrics >= text {
            Self::OpenMetrics
        } else {
            Self::Text
        }
    }

    const fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// Writes a program's metrics and build info; `prefix` is, for example, `tidemark_collector`.
    ///
    /// # Errors
    /// A metric cannot be written.
    pub fn write(self, prefix: &str, metrics: Box<dyn Collector>) -> Result<String, fmt::Error> {
        let mut registry = Registry::with_prefix(prefix);
        registry.register_collector(Box::new(Build));
        registry.register_collector(metrics);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry)?;
        Ok(match self {
            Self::OpenMetrics => text,
            Self::Text => classic(&text),
        })
    }

    /// Makes a response from the result of [`Format::write`].
    pub fn answer(self, text: Result<String, fmt::Error>) -> Response {
        let head = [(CONTENT_TYPE, self.content_type()), (VARY, "Accept")];
        match text {
            Ok(text) => (head, text).into_response(),
            Err(e) => (StatusCode::INTERNAL_SERVER_ERROR, e.to_string()).into_response(),
        }
    }
}

/// A media range of `Accept`.
struct Range<'h> {
    kind: &'h str,
    quality: f32,
}

fn ranges(header: &HeaderValue) -> impl Iterator<Item = Range<'_>> {
    let ranges = header.to_str().unwrap_or_default().split(',');
    ranges.map(|range| {
        let mut parts = range.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        let quality = parts.find_map(|p| p.strip_prefix("q=")?.parse().ok());
        Range {
            kind,
            quality: quality.unwrap_or(1.0),
        }
    })
}

#[derive(Debug)]
struct Build;

impl Collector for Build {
    fn encode(&self, mut e: DescriptorEncoder<'_>) -> fmt::Result {
        let (version, revision) = crate::version::parts();
        let revision = revision.unwrap_or_default();
        let labels = [("version", version), ("revision", revision)];
        let labels = labels.map(|(name, value)| (name, value.to_owned()));
        infos(&mut e, &BUILD_INFO, std::iter::once(labels))
    }
}

/// Converts OpenMetrics text to the older format, in which a counter's `_total` is also in the
/// header lines, an info is a gauge, and nothing marks the end.
fn classic(openmetrics: &str) -> String {
    let mut text = String::with_capacity(openmetrics.len() + 1024);
    let mut help = "";
    for line in openmetrics.lines() {
        if let Some(of) = line.strip_prefix("# HELP ") {
            help = of.split_once(' ').map_or("", |(_, help)| help);
        } else if let Some(of) = line.strip_prefix("# TYPE ") {
            let (name, kind) = of.rsplit_once(' ').unwrap_or((of, "untyped"));
            let (suffix, kind) = match kind {
                "counter" => ("_total", kind),
                "info" => ("_info", "gauge"),
                "unknown" => ("", "untyped"),
                _ => ("", kind),
            };
            let head = [
                "# HELP ",
                name,
                suffix,
                " ",
                help,
                "\n# TYPE ",
                name,
                suffix,
                " ",
                kind,
                "\n",
            ];
            text.extend(head);
        } else if !line.starts_with('#') {
            text.extend([line, "\n"]);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics;
    use crate::metrics::MetricDoc;
    use crate::metrics::encode::{Distribution, all, histograms};

    metrics! {
        #[derive(Debug, Default, Clone)]
        struct Few {
            /// Packets that came.
            counter packets: u64,
            /// Bytes that wait.
            gauge waiting: u64 = "waiting_bytes",
        }
    }

    const SIZES: MetricDoc = MetricDoc::histogram("size_bytes", "Sizes").labels(&["port"]);

    #[derive(Debug)]
    struct Shown;

    impl Collector for Shown {
        fn encode(&self, mut e: DescriptorEncoder<'_>) -> fmt::Result {
            let few = Few {
                packets: 3,
                waiting: 9,
            };
            all(&mut e, &few)?;
            let sizes = Distribution {
                sum: 250.0,
                counts: &[1, 0, 2],
            };
            let of_port = ([("port", "1".to_owned())], sizes);
            histograms(&mut e, &SIZES, &[64.0, 128.0], std::iter::once(of_port))
        }
    }

    fn accepting(accept: &[&'static str]) -> Format {
        let mut headers = HeaderMap::new();
        for value in accept {
            headers.append(ACCEPT, HeaderValue::from_static(value));
        }
        Format::asked_for(&headers)
    }

    #[test]
    fn openmetrics_is_for_those_who_ask_for_it() {
        for prometheus in [
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
             text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            "application/openmetrics-text",
            "text/plain, application/openmetrics-text; version=1.0.0; charset=utf-8",
        ] {
            assert_eq!(
                accepting(&[prometheus]),
                Format::OpenMetrics,
                "{prometheus}"
            );
        }
        for other in [
            "text/plain",
            "*/*",
            "text/html,application/xhtml+xml,*/*;q=0.8",
            "application/openmetrics-text;q=0, */*",
            "application/openmetrics-text;q=0.2, text/plain;q=0.9",
            "",
        ] {
            assert_eq!(accepting(&[other]), Format::Text, "{other}");
        }
        assert_eq!(accepting(&[]), Format::Text);
        let two_lines = ["text/html", "application/openmetrics-text"];
        assert_eq!(accepting(&two_lines), Format::OpenMetrics);
    }

    #[test]
    fn both_formats_have_the_same_values_and_their_own_heads() {
        let version = crate::version::parts().0;
        let values = [
            &format!("x_build_info{{version=\"{version}\",revision=\"\"}} 1"),
            "x_packets_total 3",
            "x_waiting_bytes 9",
            "x_size_bytes_sum{port=\"1\"} 250.0",
            "x_size_bytes_count{port=\"1\"} 3",
            "x_size_bytes_bucket{le=\"64.0\",port=\"1\"} 1",
            "x_size_bytes_bucket{le=\"128.0\",port=\"1\"} 1",
            "x_size_bytes_bucket{le=\"+Inf\",port=\"1\"} 3",
        ];
        let written = |f: Format| f.write("x", Box::new(Shown)).unwrap();
        let lines_of = |text: &str, heads: bool| {
            let lines = text.lines().filter(|l| l.starts_with('#') == heads);
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let (openmetrics, text) = (written(Format::OpenMetrics), written(Format::Text));
        assert_eq!(lines_of(&openmetrics, false), values);
        assert_eq!(lines_of(&text, false), values);
        let help = "Version of the program and commit that it was built from";
        assert_eq!(
            lines_of(&openmetrics, true),
            [
                &format!("# HELP x_build {help}"),
                "# TYPE x_build info",
                "# HELP x_packets Packets that came",
                "# TYPE x_packets counter",
                "# HELP x_waiting_bytes Bytes that wait",
                "# TYPE x_waiting_bytes gauge",
                "# HELP x_size_bytes Sizes",
                "# TYPE x_size_bytes histogram",
                "# EOF",
            ]
        );
        assert_eq!(
            lines_of(&text, true),
            [
                &format!("# HELP x_build_info {help}"),
                "# TYPE x_build_info gauge",
                "# HELP x_packets_total Packets that came",
                "# TYPE x_packets_total counter",
                "# HELP x_waiting_bytes Bytes that wait",
                "# TYPE x_waiting_bytes gauge",
                "# HELP x_size_bytes Sizes",
                "# TYPE x_size_bytes histogram",
            ]
        );
    }

    #[test]
    fn the_answer_says_its_format() {
        for format in [Format::OpenMetrics, Format::Text] {
            let answer = format.answer(Ok(String::new()));
            assert_eq!(answer.status(), StatusCode::OK);
            let head = |name| answer.headers()[name].to_str().unwrap();
            assert_eq!(head(CONTENT_TYPE), format.content_type());
            assert_eq!(head(VARY), "Accept");
        }
        let failed = Format::Text.answer(Err(fmt::Error));
        assert_eq!(failed.status(), StatusCode::INTERNAL_SERVER_ERROR);
    }
}
