// SPDX-License-Identifier: Apache-2.0
//! `--picture`: draws each verdict to a file or to the terminal.

use anyhow::Context as _;
use clap::Args;
use daemon_kit::cli::{Usage, print, print_error};
use std::path::{Path, PathBuf};
use tidemark_advice::Verdict;
use tidemark_advice::picture::text;
use tidemark_picture::{About, Figure, Format, Layout, Theme, render, theme};

#[derive(Debug, Default, Args)]
pub(super) struct PictureArgs {
    /// Also draw the verdict to a file that ends in .svg, .png, .pdf or .txt; with several links or
    /// phases, one file for each, with its name before the ending. "-": draw as text.
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// Colours of the picture: light or dark.
    #[arg(long, default_value = "light", value_parser = theme, requires = "picture")]
    theme: Theme,
}

impl PictureArgs {
    /// Draws one picture for each link or phase.
    pub(super) fn draw(&self, all: &[(About, &Verdict)], json: bool) -> anyhow::Result<()> {
        let Some(path) = &self.picture else {
            return Ok(());
        };
        if path == Path::new("-") {
            Usage::unless(!json, "--picture -: the terminal has the JSON; name a file")?;
            for figure in all.iter().filter_map(|(about, v)| Figure::of(v, about)) {
                print(text(&figure))?;
            }
            return Ok(());
        }
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or("");
        let format = Format::named(ending)
            .map_err(|e| Usage::new(format!("--picture {}: ending {e}", path.display())))?;
        let mut drawn = 0;
        for (about, verdict) in all {
            let Some(figure) = Figure::of(verdict, about) else {
                continue;
            };
            let path = match all.len() {
                1 => path.clone(),
                _ => named(path, &about.file_stem(), ending),
            };
            let bytes = render(&figure, format, self.theme, &Layout::PAPER)?;
            std::fs::write(&path, bytes).with_context(|| format!("{}", path.display()))?;
            drawn += 1;
        }
        if drawn == 0 {
            print_error("--picture: no verdict to draw: too little was measured");
        }
        Ok(())
    }
}

/// Inserts a name before the ending of a path.
fn named(path: &Path, name: &str, ending: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}-{name}.{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_rules::{Options, Targets, Traffic};

    fn verdict() -> Verdict {
        let traffic = Traffic::described(100e6, 0.02, 12.0, 1514.0);
        Verdict::of(&traffic, &Targets::default(), &Options::default())
    }

    fn about(phase: &str) -> About {
        About {
            link: "s1, port 5".into(),
            run: Some(phase.into()),
            date: None,
        }
    }

    #[test]
    fn one_verdict_has_the_file_and_several_have_names() {
        let dir = tempfile::tempdir().unwrap();
        let (v, file) = (verdict(), dir.path().join("out.svg"));
        let args = PictureArgs {
            picture: Some(file.clone()),
            theme: Theme::Dark,
        };
        args.draw(&[(about("first"), &v)], true).unwrap();
        assert!(std::fs::read_to_string(&file).unwrap().starts_with("<svg"));
        let two = [(about("first"), &v), (about("second"), &v)];
        args.draw(&two, false).unwrap();
        for phase in ["first", "second"] {
            let name = format!("out-verdict-s1-port-5-{phase}.svg");
            assert!(dir.path().join(name).exists(), "{phase}");
        }
    }

    #[test]
    fn an_unknown_ending_and_json_on_the_terminal_are_refused() {
        let v = verdict();
        let draw = |path: &str, json| {
            let args = PictureArgs {
                picture: Some(path.into()),
                theme: Theme::Light,
            };
            args.draw(&[(about("first"), &v)], json)
        };
        let e = draw("x.gif", false).unwrap_err();
        assert!(e.to_string().contains("svg, png, pdf or txt"), "{e}");
        assert!(draw("-", true).is_err());
    }
}
