// SPDX-License-Identifier: Apache-2.0
//! What the items of a module reach for: `use` lines, paths in the code, and paths
//! among the tokens of macros.

use std::collections::BTreeMap;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::Visit;
use syn::{Attribute, ImplItemFn, Item, ItemMod, ItemUse, Macro, UseTree, Visibility};

use super::{Module, ModulePath};

/// What the items of a file say; the modules that lie in files of their own.
pub(super) fn read(items: &[Item], here: &[String], module: &mut Module) -> Vec<String> {
    let items: Vec<&Item> = items.iter().filter(|i| !is_test(attributes(i))).collect();
    let (mut below, mut children) = (Vec::new(), Vec::new());
    for item in &items {
        if let Item::Mod(m) = item {
            children.push(m.ident.to_string());
            if m.content.is_none() {
                below.push(m.ident.to_string());
            }
        }
    }
    // Names first: a path that begins with one of them is a path to what it stands for.
    for item in &items {
        if let Item::Use(u) = item {
            for (written, name) in targets(u) {
                if let Some(target) = absolute(&written, here, &children, &BTreeMap::new()) {
                    module.aliases.insert(name, target);
                }
            }
        }
    }
    let mut reader = Reader {
        here: here.to_vec(),
        children,
        module,
    };
    for item in items {
        reader.visit_item(item);
    }
    below
}

/// What a `use` line brings into scope: path as it is written, name.
fn targets(u: &ItemUse) -> Vec<(Vec<String>, String)> {
    let mut found = Vec::new();
    if u.leading_colon.is_none() {
        flatten(&u.tree, Vec::new(), &mut found);
    }
    found
}

/// `use` trees as (path, name in scope).
fn flatten(tree: &UseTree, before: Vec<String>, found: &mut Vec<(Vec<String>, String)>) {
    let with = |name: String| {
        let mut path = before.clone();
        if name != "self" || path.is_empty() {
            path.push(name);
        }
        path
    };
    match tree {
        UseTree::Path(p) => flatten(&p.tree, with(p.ident.to_string()), found),
        UseTree::Name(n) => {
            let path = with(n.ident.to_string());
            let name = path.last().cloned().unwrap_or_default();
            found.push((path, name));
        }
        UseTree::Rename(r) => found.push((with(r.ident.to_string()), r.rename.to_string())),
        UseTree::Glob(_) => found.push((before, "*".to_owned())),
        UseTree::Group(g) => {
            for tree in &g.items {
                flatten(tree, before.clone(), found);
            }
        }
    }
}

/// From the crate's root; None for paths into other crates.
fn absolute(
    written: &[String],
    here: &[String],
    children: &[String],
    aliases: &BTreeMap<String, ModulePath>,
) -> Option<ModulePath> {
    let mut path = here.to_vec();
    let mut rest = written;
    match rest.first()?.as_str() {
        "crate" => {
            path.clear();
            rest = &rest[1..];
        }
        "self" => rest = &rest[1..],
        "super" => {
            while rest.first().is_some_and(|s| s == "super") {
                path.pop();
                rest = &rest[1..];
            }
        }
        first if children.iter().any(|c| c == first) => {}
        first => {
            path = aliases.get(first)?.clone();
            rest = &rest[1..];
        }
    }
    path.extend(rest.iter().cloned());
    Some(path)
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Mod(i) => &i.attrs,
        Item::Use(i) => &i.attrs,
        Item::Fn(i) => &i.attrs,
        Item::Impl(i) => &i.attrs,
        Item::Struct(i) => &i.attrs,
        Item::Const(i) => &i.attrs,
        _ => &[],
    }
}

/// `#[cfg(test)]` and `#[cfg(all(test, …))]`.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|a| {
        let mut test = false;
        if a.path().is_ident("cfg") {
            // An unknown form inside is an error of parsing, and then no test.
            let _ = a.parse_nested_meta(|m| {
                if m.path.is_ident("test") {
                    test = true;
                } else if m.path.is_ident("all") {
                    m.parse_nested_meta(|m| {
                        test |= m.path.is_ident("test");
                        if m.input.peek(syn::Token![=]) {
                            m.value()?.parse::<syn::Lit>()?;
                        }
                        Ok(())
                    })?;
                } else if m.input.peek(syn::Token![=]) {
                    m.value()?.parse::<syn::Lit>()?;
                }
                Ok(())
            });
        }
        test
    })
}

/// Collects what the items of one module reach for: `use` lines, also those inside of
/// functions, paths in the middle of the code, and paths among the tokens of macros.
struct Reader<'a> {
    here: ModulePath,
    /// Modules that this one declares.
    children: Vec<String>,
    module: &'a mut Module,
}

impl Reader<'_> {
    fn path(&mut self, names: &[String]) {
        if let [.., kind, now] = names
            && now == "now"
            && (kind == "Instant" || kind == "SystemTime")
        {
            self.module.clocks.push(format!("{kind}::now"));
        }
        // One word is a name in scope: what brought it there is counted. A path that
        // begins with a module's own child is the module handing work down, as `pub use`
        // hands names up: no arrow.
        if names.len() > 1
            && let Some(target) = absolute(names, &self.here, &[], &self.module.aliases)
        {
            self.module.imports.push(target);
        }
    }

    /// Paths in tokens that are not parsed: words with `::` between them.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut names: Vec<String> = Vec::new();
        // So many colons since the last word.
        let mut colons = 0;
        for token in tokens {
            match &token {
                TokenTree::Ident(word) => {
                    if colons != 2 {
                        self.path(&std::mem::take(&mut names));
                    }
                    names.push(word.to_string());
                    colons = 0;
                    continue;
                }
                TokenTree::Punct(p) if p.as_char() == ':' && !names.is_empty() => {
                    colons += 1;
                    continue;
                }
                TokenTree::Group(g) => self.tokens(g.stream()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
            self.path(&std::mem::take(&mut names));
            colons = 0;
        }
        self.path(&names);
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(attributes(item)) {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, f: &'ast ImplItemFn) {
        if !is_test(&f.attrs) {
            syn::visit::visit_impl_item_fn(self, f);
        }
    }

    /// A module in the same file: its paths count for the file.
    fn visit_item_mod(&mut self, m: &'ast ItemMod) {
        self.here.push(m.ident.to_string());
        let children = std::mem::take(&mut self.children);
        syn::visit::visit_item_mod(self, m);
        self.children = children;
        self.here.pop();
    }

    fn visit_item_use(&mut self, u: &'ast ItemUse) {
        let exported = !matches!(u.vis, Visibility::Inherited);
        for (written, _) in targets(u) {
            let aliases = BTreeMap::new();
            if let Some(target) = absolute(&written, &self.here, &self.children, &aliases)
                // `pub use child::Name` only gives a name to what is below.
                && !(exported && target.starts_with(&self.here))
            {
                self.module.imports.push(target);
            }
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
            self.path(&names);
        }
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, m: &'ast Macro) {
        syn::visit::visit_macro(self, m);
        self.tokens(m.tokens.clone());
    }

    /// `pub(in crate::a)` reaches for nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}
