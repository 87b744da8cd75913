// SPDX-License-Identifier: Apache-2.0
//! Embeds the console's files as they are sent: gzip-compressed if that makes them smaller. If the
//! console has not been built, there are none.

use flate2::{Compression, write::GzEncoder};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let dist = Path::new("../console/dist");
    fs::create_dir_all(dist)?;
    println!("cargo:rerun-if-changed=../console/dist");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    let mut files = Vec::new();
    list(dist, "", &mut files)?;
    files.sort();
    let mut table = String::new();
    for (i, name) in files.iter().enumerate() {
        let plain = fs::read(dist.join(name))?;
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(&plain)?;
        let packed = packed.finish()?;
        // Fonts and pictures are compressed already.
        let gzip = packed.len() * 10 < plain.len() * 9;
        fs::write(out.join(i.to_string()), if gzip { packed } else { plain })?;
        let bytes = format!("include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{i}\"))");
        let _ = writeln!(
            table,
            "File {{ path: {name:?}, gzip: {gzip}, bytes: {bytes} }},"
        );
    }
    fs::write(out.join("console.rs"), format!("&[{table}]"))
}

fn list(folder: &Path, under: &str, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().into_string();
        let name = name.map_err(|_| {
            io::Error::other(format!(
                "{}: a name in UTF-8, please",
                entry.path().display()
            ))
        })?;
        let name = format!("{under}{name}");
        if entry.file_type()?.is_dir() {
            list(&entry.path(), &format!("{name}/"), files)?;
        } else {
            files.push(name);
        }
    }
    Ok(())
}
