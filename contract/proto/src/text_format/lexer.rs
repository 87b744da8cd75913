// SPDX-License-Identifier: Apache-2.0
//! Lexer of protobuf text format.

use super::TextError;

/// A token of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A field's name, an enum's value, `true`.
    Name(&'a str),
    /// Digits as written, without a sign.
    Number(&'a str),
    /// A string literal with its escapes resolved.
    Literal(Vec<u8>),
    /// One of `{}<>[]:,;-`.
    Sign(u8),
    /// The end of the text.
    End,
}

/// Splits a text into tokens, with one token of lookahead.
pub(super) struct Lexer<'a> {
    text: &'a str,
    /// End of the next token.
    at: usize,
    /// Start of the next token.
    start: usize,
    next: Token<'a>,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self, TextError> {
        let mut lexer = Self {
            text,
            at: 0,
            start: 0,
            next: Token::End,
        };
        lexer.advance()?;
        Ok(lexer)
    }

    /// Returns the next token without taking it.
    pub(super) fn peek(&self) -> &Token<'a> {
        &self.next
    }

    /// Takes the next token.
    pub(super) fn take(&mut self) -> Result<Token<'a>, TextError> {
        let token = std::mem::replace(&mut self.next, Token::End);
        self.advance()?;
        Ok(token)
    }

    /// Takes the next token if it is this sign.
    pub(super) fn accept(&mut self, sign: u8) -> Result<bool, TextError> {
        let is = self.next == Token::Sign(sign);
        if is {
            self.advance()?;
        }
        Ok(is)
    }

    /// Start of the next token.
    pub(super) fn position(&self) -> usize {
        self.start
    }

    /// Makes an error at byte `at` of the text.
    pub(super) fn error(&self, at: usize, what: impl Into<String>) -> TextError {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        let line_start = before
            .iter()
            .rposition(|&b| b == b'\n')
            .map_or(0, |i| i + 1);
        TextError {
            what: what.into(),
            line: before.iter().filter(|&&b| b == b'\n').count() + 1,
            column: before.len() - line_start + 1,
        }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// Returns the first position from `at` whose byte does not satisfy `is`.
    fn skip(&self, mut at: usize, is: impl Fn(u8) -> bool) -> usize {
        while self.byte(at).is_some_and(&is) {
            at += 1;
        }
        at
    }

    fn advance(&mut self) -> Result<(), TextError> {
        loop {
            self.at = self.skip(self.at, |b| b.is_ascii_whitespace());
            if self.byte(self.at) != Some(b'#') {
                break;
            }
            self.at = self.skip(self.at, |b| b != b'\n');
        }
        self.start = self.at;
        let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'.';
        self.next = match self.byte(self.at) {
            None => Token::End,
            Some(b) if b.is_ascii_alphabetic() || b == b'_' => {
                self.at = self.skip(self.at, word);
                Token::Name(&self.text[self.start..self.at])
            }
            Some(b) if b.is_ascii_digit() => {
                self.at = self.skip(self.at, word);
                Token::Number(&self.text[self.start..self.at])
            }
            Some(quote @ (b'"' | b'\'')) => Token::Literal(self.literal(quote)?),
            Some(b) if b"{}<>[]:,;-".contains(&b) => {
                self.at += 1;
                Token::Sign(b)
            }
            Some(_) => {
                let c = self.text[self.at..].chars().next().unwrap_or_default();
                return Err(self.error(self.at, format!("unexpected character {c:?}")));
            }
        };
        Ok(())
    }

    /// Reads a string, from the opening quote past the closing quote.
    fn literal(&mut self, quote: u8) -> Result<Vec<u8>, TextError> {
        let mut out = Vec::new();
        self.at += 1;
        loop {
            match self.byte(self.at) {
                None | Some(b'\n') => return Err(self.error(self.start, "string without an end")),
                Some(b) if b == quote => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => self.escape(&mut out)?,
                Some(b) => {
                    out.push(b);
                    self.at += 1;
                }
            }
        }
    }

    /// Reads one escape sequence: as in C, with octal and hexadecimal bytes, and
    /// `\u`/`\U` for characters.
    fn escape(&mut self, out: &mut Vec<u8>) -> Result<(), TextError> {
        let start = self.at;
        let c = self.byte(start + 1);
        self.at += 2;
        let simple = match c {
            Some(b'a') => 7,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'v') => 11,
            Some(b @ (b'\\' | b'\'' | b'"' | b'?')) => b,
            Some(b'0'..=b'7') => {
                self.at = start + 1;
                let value = self.digits(8, 3);
                let byte = value.and_then(|v| u8::try_from(v).ok());
                byte.ok_or_else(|| self.error(start, "octal escape above \\377"))?
            }
            Some(b'x' | b'X') => {
                let value = self.digits(16, 2);
                let byte = value.and_then(|v| u8::try_from(v).ok());
                byte.ok_or_else(|| self.error(start, "\\x without a hexadecimal digit"))?
            }
            Some(u @ (b'u' | b'U')) => {
                let wanted = if u == b'u' { 4 } else { 8 };
                let from = self.at;
                let c = self.digits(16, wanted).and_then(char::from_u32);
                let c = c.filter(|_| self.at - from == wanted);
                let c = c.ok_or_else(|| self.error(start, "not a Unicode character"))?;
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return Err(self.error(start, "unknown escape sequence")),
        };
        out.push(simple);
        Ok(())
    }

    /// Reads up to `most` digits in base `radix`; `None` if there is no digit.
    fn digits(&mut self, radix: u32, most: usize) -> Option<u32> {
        let mut value = None;
        for _ in 0..most {
            let Some(d) = self
                .byte(self.at)
                .and_then(|b| char::from(b).to_digit(radix))
            else {
                break;
            };
            value = Some(value.unwrap_or(0) * radix + d);
            self.at += 1;
        }
        value
    }
}
