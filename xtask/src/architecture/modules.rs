// SPDX-License-Identifier: Apache-2.0
//! The modules of a crate, and the paths that each refers to: in `use` lines, in code, among macro
//! tokens. Read from tokens, so that one grammar suffices.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// A module's path from the crate's root; empty for the root itself.
pub(super) type ModulePath = Vec<String>;
pub(super) type Modules = BTreeMap<ModulePath, Module>;

#[derive(Default)]
pub(super) struct Module {
    /// Relative to the top of the repository.
    pub file: String,
    /// Names that this module brings into scope, and the paths they stand for.
    pub aliases: BTreeMap<String, ModulePath>,
    /// Absolute paths of imports, without re-exports, and of other paths in the code.
    pub imports: Vec<ModulePath>,
    /// Calls of `Instant::now` and similar functions.
    pub clocks: Vec<String>,
}

/// Reads the modules of the crate whose root is in this folder: `src`, or a benchmark's folder.
pub(super) fn of_crate(root: &Path, folder: &str) -> Result<Modules> {
    let mut modules = Modules::new();
    // The library and the program of a crate have separate roots, combined here.
    for file in ["lib.rs", "main.rs"].map(|start| format!("{folder}/{start}")) {
        if root.join(&file).is_file() {
            read_file(root, &file, folder, Vec::new(), &mut modules)?;
        }
    }
    Ok(modules)
}

/// Reads a file and its modules' files. `children` is the folder of the modules.
fn read_file(
    root: &Path,
    file: &str,
    children: &str,
    path: ModulePath,
    modules: &mut Modules,
) -> Result<()> {
    let text = fs::read_to_string(root.join(file)).with_context(|| file.to_owned())?;
    let tokens: TokenStream = text.parse().map_err(|e| anyhow!("{file}: {e}"))?;
    let mut said = Said::default();
    said.read(tokens, &path);
    let module = modules.entry(path.clone()).or_default();
    module.file = file.to_owned();
    said.resolve(&path, module);
    for name in said.files {
        let flat = format!("{children}/{name}.rs");
        let nested = format!("{children}/{name}/mod.rs");
        // Modules written by a build script have no file here.
        if let Some(file) = [flat, nested].iter().find(|f| root.join(f).is_file()) {
            let path = [&path[..], std::slice::from_ref(&name)].concat();
            read_file(root, file, &format!("{children}/{name}"), path, modules)?;
        }
    }
    Ok(())
}

/// A file's modules and paths as written.
#[derive(Default)]
struct Said {
    /// Modules declared by the file, and those of them that have their own files.
    children: Vec<String>,
    files: Vec<String>,
    reached: Vec<Reached>,
}

struct Reached {
    /// The module that contains the path: the file's, or one within the file.
    here: ModulePath,
    path: Vec<String>,
    /// For a `use`: the name in scope, and whether it is exported.
    brings: Option<(String, bool)>,
}

impl Said {
    fn read(&mut self, tokens: TokenStream, here: &ModulePath) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        let mut exported = false;
        while let Some(token) = tokens.get(at) {
            at += 1;
            let was_exported = std::mem::take(&mut exported);
            match token {
                TokenTree::Punct(p) if p.as_char() == '#' => {
                    if let Some(TokenTree::Group(attribute)) = tokens.get(at)
                        && is_test(attribute.stream())
                    {
                        at = end_of_item(&tokens, at);
                    }
                }
                TokenTree::Punct(_) if is_colons(&tokens, at - 1) => {
                    // `::other_crate::a`, or `b` of `<A>::b`: not in this crate.
                    at = path_at(&tokens, at + 1).1;
                }
                TokenTree::Group(g) => self.read(g.stream(), here),
                TokenTree::Ident(word) if word == "pub" => {
                    exported = true;
                    // `pub(in crate::a)` imports nothing.
                    at += usize::from(matches!(tokens.get(at), Some(TokenTree::Group(_))));
                }
                TokenTree::Ident(word) if word == "mod" => at = self.module(&tokens, at, here),
                // Excludes `use<'a>` in a type.
                TokenTree::Ident(word) if word == "use" && !is_mark(tokens.get(at), '<') => {
                    let end = tokens[at..].iter().position(|t| is_mark(Some(t), ';'));
                    let end = end.map_or(tokens.len(), |n| at + n);
                    if !is_colons(&tokens, at) {
                        self.tree(&tokens[at..end], &[], here, was_exported);
                    }
                    at = end;
                }
                TokenTree::Ident(_) => {
                    let (path, end) = path_at(&tokens, at - 1);
                    at = end;
                    // A single word is a name in scope: its import is counted.
                    if path.len() > 1 {
                        self.reach(here, path, None);
                    }
                }
                _ => {}
            }
        }
    }

    fn reach(&mut self, here: &ModulePath, path: Vec<String>, brings: Option<(String, bool)>) {
        let here = here.clone();
        self.reached.push(Reached { here, path, brings });
    }

    /// Parses `mod name;` or `mod name { … }` from the name on; returns the end. Paths inside the
    /// braces count for the file.
    fn module(&mut self, tokens: &[TokenTree], at: usize, here: &ModulePath) -> usize {
        let Some(TokenTree::Ident(name)) = tokens.get(at) else {
            return at;
        };
        self.children.push(name.to_string());
        match tokens.get(at + 1) {
            Some(TokenTree::Group(body)) => {
                self.read(body.stream(), &[&here[..], &[name.to_string()]].concat());
            }
            _ => self.files.push(name.to_string()),
        }
        at + 2
    }

    /// Parses a `use` tree.
    fn tree(&mut self, tree: &[TokenTree], before: &[String], here: &ModulePath, exported: bool) {
        for branch in tree.split(|t| is_mark(Some(t), ',')) {
            let mut path = before.to_vec();
            let mut name = None;
            let mut tokens = branch.iter();
            while let Some(token) = tokens.next() {
                match token {
                    TokenTree::Ident(word) if word == "as" => {
                        name = tokens.next().map(|t| t.to_string())
                    }
                    TokenTree::Ident(word) => {
                        if word != "self" || path.is_empty() {
                            path.push(word.to_string());
                        }
                        name = path.last().cloned();
                    }
                    TokenTree::Group(g) => {
                        let inner: Vec<TokenTree> = g.stream().into_iter().collect();
                        self.tree(&inner, &path, here, exported);
                        name = None;
                    }
                    TokenTree::Punct(p) if p.as_char() == '*' => name = Some("*".to_owned()),
                    _ => {}
                }
            }
            if let Some(name) = name {
                self.reach(here, path, Some((name, exported)));
            }
        }
    }

    /// Resolves the paths in the file of module `file` to absolute ones.
    fn resolve(&self, file: &ModulePath, module: &mut Module) {
        let none = BTreeMap::new();
        for r in &self.reached {
            let Some((name, exported)) = &r.brings else {
                continue;
            };
            let children: &[String] = if r.here == *file { &self.children } else { &[] };
            if let Some(target) = absolute(&r.path, &r.here, children, &none) {
                // `pub use child::Name` only re-exports a name from below.
                if !(*exported && target.starts_with(&r.here)) {
                    module.imports.push(target.clone());
                }
                if r.here == *file {
                    module.aliases.insert(name.clone(), target);
                }
            }
        }
        for r in self.reached.iter().filter(|r| r.brings.is_none()) {
            if let [.., kind, now] = &r.path[..]
                && now == "now"
                && (kind == "Instant" || kind == "SystemTime")
            {
                module.clocks.push(format!("{kind}::now"));
            }
            // A path that begins with the module's own child is a parent using its child, as with
            // `pub use`: no arrow.
            module
                .imports
                .extend(absolute(&r.path, &r.here, &[], &module.aliases));
        }
    }
}

/// Returns the path from the crate's root; `None` for paths into other crates.
fn absolute(
    written: &[String],
    here: &[String],
    children: &[String],
    aliases: &BTreeMap<String, ModulePath>,
) -> Option<ModulePath> {
    let (first, rest) = written.split_first()?;
    match first.as_str() {
        "crate" => Some(rest.to_vec()),
        "self" => Some([here, rest].concat()),
        "super" => {
            let up = written.iter().take_while(|s| *s == "super").count();
            let base = here.len().saturating_sub(up);
            Some([&here[..base], &written[up..]].concat())
        }
        name if children.iter().any(|c| c == name) => Some([here, written].concat()),
        name => Some([aliases.get(name)?, rest].concat()),
    }
}

/// Parses words with `::` between them; returns them and their end.
fn path_at(tokens: &[TokenTree], mut at: usize) -> (Vec<String>, usize) {
    let mut path = Vec::new();
    while let Some(TokenTree::Ident(word)) = tokens.get(at) {
        path.push(word.to_string());
        at += 1;
        if !(is_colons(tokens, at) && matches!(tokens.get(at + 2), Some(TokenTree::Ident(_)))) {
            break;
        }
        at += 2;
    }
    (path, at)
}

fn is_colons(tokens: &[TokenTree], at: usize) -> bool {
    let joint = |t: &TokenTree| matches!(t, TokenTree::Punct(p) if p.spacing() == Spacing::Joint);
    let first = tokens.get(at).filter(|t| joint(t));
    is_mark(first, ':') && is_mark(tokens.get(at + 1), ':')
}

fn is_mark(token: Option<&TokenTree>, mark: char) -> bool {
    matches!(token, Some(TokenTree::Punct(p)) if p.as_char() == mark)
}

/// Whether the attribute is `test`, `cfg(test)` or `cfg(all(test, …))`.
fn is_test(attribute: TokenStream) -> bool {
    let tokens: Vec<TokenTree> = attribute.into_iter().collect();
    match &tokens[..] {
        [TokenTree::Ident(word)] => word == "test",
        [TokenTree::Ident(word), TokenTree::Group(inner)] if word == "cfg" || word == "all" => {
            let inner: Vec<TokenTree> = inner.stream().into_iter().collect();
            let mut conditions = inner.split(|t| is_mark(Some(t), ','));
            conditions.any(|c| is_test(c.iter().cloned().collect()))
        }
        _ => false,
    }
}

/// Returns the end of the item at `at`: after its braces or semicolon.
fn end_of_item(tokens: &[TokenTree], at: usize) -> usize {
    let last = |t: &TokenTree| match t {
        TokenTree::Group(g) => g.delimiter() == Delimiter::Brace,
        t => is_mark(Some(t), ';'),
    };
    let rest = tokens[at..].iter().position(last);
    rest.map_or(tokens.len(), |n| at + n + 1)
}
