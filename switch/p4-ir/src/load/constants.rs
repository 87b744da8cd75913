// SPDX-License-Identifier: Apache-2.0
//! Constant arguments of actions and of log messages.

use num_traits::ToPrimitive;
use serde_json::Value;

use super::json::{array, of_type, string};
use super::loader::Loader;
use crate::bits::{mask64, words_for};
use crate::error::{LoadError, Result, bail};
use crate::primitive::Primitive;

impl Loader<'_> {
    pub(super) fn log(&self, format: &Value, args: &Value) -> Result<Primitive> {
        let kind = string(args, "type")?;
        if kind != "parameters_vector" {
            bail!("log_msg with arguments of type \"{kind}\"");
        }
        // p4c writes an empty list as an object.
        let list = match args.get("value") {
            Some(Value::Object(none)) if none.is_empty() => &[][..],
            _ => array(args, "value")?,
        };
        Ok(Primitive::Log {
            format: of_type(format, "string")?.to_owned(),
            args: list.iter().map(|x| self.exact(x)).collect::<Result<_>>()?,
        })
    }

    /// Reads constant arguments from JSON hexstrs.
    pub(super) fn constant_args(&self, action: u32, data: &Value) -> Result<Vec<u64>> {
        let a = self
            .program
            .actions
            .get(action as usize)
            .ok_or_else(|| LoadError::new("unknown action"))?;
        let list = data.as_array().map(Vec::as_slice).unwrap_or_default();
        if list.len() != a.params.len() {
            bail!(
                "action {} takes {} arguments, got {}",
                a.name,
                a.params.len(),
                list.len()
            );
        }
        let mut out = Vec::with_capacity(a.arg_words);
        for (p, v) in a.params.iter().zip(list) {
            let text = v
                .as_str()
                .ok_or_else(|| LoadError::new("action data is not a hexstr"))?;
            out.extend(self.constant_words(data, text, p.width)?);
        }
        Ok(out)
    }

    pub(super) fn constant_words(&self, at: &Value, text: &str, width: u32) -> Result<Vec<u64>> {
        let n = super::json::hex(at, text)?;
        let mut words = vec![0; words_for(width)];
        match n.to_u64() {
            Some(v) if width <= 64 => {
                if let Some(w) = words.first_mut() {
                    *w = v & mask64(width);
                }
            }
            _ => crate::bits::words_from_big(&n, width, &mut words),
        }
        Ok(words)
    }
}
