// SPDX-License-Identifier: Apache-2.0
//! Renders the picture of a verdict in a given format. PNG and PDF are made from the SVG with the
//! program's own font (a subset of IBM Plex Sans under another name, `font/OFL.txt`), so that they
//! look the same on every machine.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

use std::sync::{Arc, LazyLock};
use std::time::{Duration, UNIX_EPOCH};
use svg2pdf::usvg;
pub use tidemark_advice::picture::{About, Figure, Layout, Theme};
use tidemark_advice::picture::{svg, text};
use tidemark_estimators::{LinkEstimate, LinkId};

/// Pixels of the PNG per unit of the SVG.
const PNG_SCALE: f32 = 2.0;
const FAMILY: &str = "Tidemark Sans";

/// Why a drawing cannot be converted.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// The SVG is refused.
    #[error("the picture cannot be read back: {0}")]
    Svg(#[from] usvg::Error),
    /// The pixels, or their PNG, could not be made.
    #[error("the PNG cannot be written: {0}")]
    Png(String),
    /// The PDF could not be made.
    #[error("the PDF cannot be written: {0}")]
    Pdf(String),
}

/// The format of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Vector graphics for pages.
    Svg,
    /// Pixels, 2400 × 1200 for paper.
    Png,
    /// Vector graphics for papers.
    Pdf,
    /// Lines of at most 80 columns.
    Text,
}

impl Format {
    /// Finds a format by its name, which is also its file ending.
    ///
    /// # Errors
    /// The names of all formats.
    pub fn named(name: &str) -> Result<Self, String> {
        match name {
            "svg" => Ok(Format::Svg),
            "png" => Ok(Format::Png),
            "pdf" => Ok(Format::Pdf),
            "txt" => Ok(Format::Text),
            _ => Err(format!("\"{name}\": must be svg, png, pdf or txt")),
        }
    }

    /// Returns the media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Format::Svg => "image/svg+xml",
            Format::Png => "image/png",
            Format::Pdf => "application/pdf",
            Format::Text => "text/plain; charset=utf-8",
        }
    }
}

/// Renders the picture.
///
/// # Errors
/// The drawing cannot be converted.
pub fn render(
    figure: &Figure,
    format: Format,
    theme: Theme,
    layout: &Layout,
) -> Result<Vec<u8>, PictureError> {
    let drawn = || svg(figure, theme, layout);
    match format {
        Format::Svg => Ok(drawn().into_bytes()),
        Format::Text => Ok((text(figure) + "\n").into_bytes()),
        Format::Png => png(&tree(&drawn())?),
        Format::Pdf => pdf(&tree(&drawn())?),
    }
}

/// Finds a theme by its name.
///
/// # Errors
/// The names of all themes.
pub fn theme(name: &str) -> Result<Theme, String> {
    match name {
        "light" => Ok(Theme::Light),
        "dark" => Ok(Theme::Dark),
        _ => Err(format!("\"{name}\": must be light or dark")),
    }
}

/// Describes the origin: the names of node and port if they are known, the run or phase, and the
/// date of the measurement.
pub fn about(
    id: LinkId,
    estimate: Option<&LinkEstimate>,
    run: Option<String>,
    unix_ms: u64,
) -> About {
    let named = |name: Option<&String>, else_: String| match name {
        Some(name) if !name.is_empty() => name.clone(),
        _ => else_,
    };
    let node = named(
        estimate.map(|e| &e.node_name),
        format!("node {}", id.node_id),
    );
    let number = id.known_port();
    let number = number.map_or_else(|| "unknown".into(), |n| n.to_string());
    let port = named(estimate.map(|e| &e.port_name), format!("port {number}"));
    let queue = match id.queue {
        0 => String::new(),
        queue => format!(", queue {queue}"),
    };
    let at = UNIX_EPOCH + Duration::from_millis(unix_ms);
    let date = humantime::format_rfc3339_seconds(at).to_string();
    let minutes = date.get(..16).unwrap_or(&date).replace('T', " ");
    About {
        link: format!("{node}, {port}{queue}"),
        run,
        date: (unix_ms > 0).then(|| format!("{minutes} UTC")),
    }
}

static FONTS: LazyLock<Arc<usvg::fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(include_bytes!("font/TidemarkSans-Regular.ttf").to_vec());
    fonts.load_font_data(include_bytes!("font/TidemarkSans-SemiBold.ttf").to_vec());
    fonts.set_sans_serif_family(FAMILY);
    Arc::new(fonts)
});

fn tree(drawn: &str) -> Result<usvg::Tree, PictureError> {
    let options = usvg::Options {
        font_family: FAMILY.into(),
        fontdb: Arc::clone(&FONTS),
        ..usvg::Options::default()
    };
    Ok(usvg::Tree::from_str(drawn, &options)?)
}

fn png(tree: &usvg::Tree) -> Result<Vec<u8>, PictureError> {
    let size = tree.size();
    let [width, height] = [size.width(), size.height()].map(|side| (side * PNG_SCALE) as u32);
    let mut pixels = resvg::tiny_skia::Pixmap::new(width, height)
        .ok_or_else(|| PictureError::Png("no memory for the pixels".into()))?;
    let scale = resvg::tiny_skia::Transform::from_scale(PNG_SCALE, PNG_SCALE);
    resvg::render(tree, scale, &mut pixels.as_mut());
    let encoded = pixels.encode_png();
    encoded.map_err(|e| PictureError::Png(e.to_string()))
}

fn pdf(tree: &usvg::Tree) -> Result<Vec<u8>, PictureError> {
    svg2pdf::to_pdf(
        tree,
        svg2pdf::ConversionOptions::default(),
        svg2pdf::PageOptions::default(),
    )
    .map_err(|e| PictureError::Pdf(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_advice::Verdict;
    use tidemark_rules::{Options, Targets, Traffic};

    fn figure() -> Figure {
        let traffic = Traffic::described(100e6, 0.02, 12.0, 1514.0);
        let verdict = Verdict::of(&traffic, &Targets::default(), &Options::default());
        let about = About {
            link: "s1, port 5".into(),
            ..About::default()
        };
        Figure::of(&verdict, &about).unwrap()
    }

    #[test]
    fn a_png_has_twice_the_pixels_and_text_in_them() {
        let bytes = render(&figure(), Format::Png, Theme::Light, &Layout::PAPER).unwrap();
        let pixels = resvg::tiny_skia::Pixmap::decode_png(&bytes).unwrap();
        assert_eq!((pixels.width(), pixels.height()), (2400, 1200));
        // The title is at the upper left.
        let dark = |x: u32, y: u32| pixels.pixel(x, y).is_some_and(|p| p.red() < 100);
        let written = (170..600).any(|x| (30..62).any(|y| dark(x, y)));
        assert!(written);
    }

    #[test]
    fn a_pdf_has_its_font_within() {
        let bytes = render(&figure(), Format::Pdf, Theme::Light, &Layout::PAPER).unwrap();
        assert!(bytes.starts_with(b"%PDF-"));
        let all = String::from_utf8_lossy(&bytes);
        assert!(all.contains("TidemarkSans"), "no font");
    }

    #[test]
    fn the_fonts_are_read() {
        let names: Vec<_> = FONTS
            .faces()
            .map(|f| (f.families.clone(), f.weight.0))
            .collect();
        assert_eq!(names.len(), 2, "{names:?}");
        assert!(names.iter().all(|(f, _)| f[0].0 == FAMILY), "{names:?}");
    }

    #[test]
    fn a_link_without_names_has_its_numbers() {
        let id = LinkId {
            node_id: 10,
            port: 5,
            queue: 0,
        };
        let about = about(id, None, None, 1_795_816_017_000);
        assert_eq!(about.link, "node 10, port 5");
        assert_eq!(about.date.as_deref(), Some("2026-11-27 21:46 UTC"));
    }

    #[test]
    fn formats_have_names() {
        for name in ["svg", "png", "pdf", "txt"] {
            assert!(Format::named(name).is_ok());
        }
        assert!(Format::named("gif").unwrap_err().contains("svg, png"));
    }
}
